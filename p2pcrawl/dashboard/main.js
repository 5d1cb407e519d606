// Begins: shows the view that the address names, asks the peer while somebody looks, goes on elsewhere when it is gone.

import { askToken, tell } from './acting.js';
import { ClusterView, showHealth } from './cluster.js';
import { colour } from './colours.js';
import { $, attr, el, say } from './dom.js';
import { ExplainView } from './explain.js';
import { HostsView, JobsView } from './lists.js';
import { JobView } from './job.js';
import { answers, ask, hear } from './remote.js';
import { SchedulesView } from './schedules.js';
import { SubmitView } from './submit.js';
import { lasting, plural, short } from './words.js';

const EVERY_MS = 2000;
const GONE_MS = 4000;
const NEWS_MS = 4000;

class App {
  constructor() {
    this.stirred = false;
    this.overview = null;
    this.refresh = () => this.tick();
    this.views = {
      cluster: new ClusterView(this), jobs: new JobsView(this), job: new JobView(this), hosts: new HostsView(this),
      schedules: new SchedulesView(this), explain: new ExplainView(this), submit: new SubmitView(this),
    };
    this.failing = null;
    this.reached = null;
    this.states = null;
    this.news = [];
    this.lacking = new Map();
  }

  begin() {
    addEventListener('hashchange', () => this.route(true));
    document.addEventListener('visibilitychange', () => this.wake());
    $('theme').addEventListener('click', () => this.theme(!dark()));
    $('key').addEventListener('click', () => askToken('It is kept in this tab only.'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.theme(dark(), false));
    this.theme(dark(), false);
    this.route(false);
    this.wake();
  }

  // -- views

  route(by_hand) {
    const [route, query] = location.hash.split('?');
    const came = new URLSearchParams(query).get('from');
    if (came) tell(`${came} does not answer any more; this is ${location.host}.`);
    if (!route.startsWith('#/') && route) return;
    const [name = '', ...rest] = route.slice(2).split('/');
    const what = decoded(rest.join('/'));
    this.shown = name === 'jobs' && what ? 'job' : this.views[name] && name !== 'job' ? name : 'cluster';
    for (const view of document.querySelectorAll('[data-view]')) view.hidden = view.dataset.view !== this.shown;
    const tab = this.shown === 'job' ? 'jobs' : this.shown;
    for (const link of document.querySelectorAll('[data-tab]')) attr(link, 'aria-current', link.dataset.tab === tab ? 'page' : null);
    const view = this.views[this.shown];
    view.open?.(what);
    const head = document.querySelector(`[data-view=${this.shown}] h1`);
    document.title = `${this.shown === 'job' ? `Job ${what}` : head.textContent} · p2pcrawl`;
    if (by_hand) {
      head.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    this.lacking.clear();
    if (this.overview) this.tick();
  }

  theme(to_dark, keep = true) {
    if (keep) {
      document.documentElement.dataset.theme = to_dark ? 'dark' : 'light';
      try { localStorage.setItem('theme', to_dark ? 'dark' : 'light'); } catch { /* Not kept, then. */ }
    }
    say($('theme'), to_dark ? 'Light' : 'Dark');
    attr($('theme'), 'aria-label', to_dark ? 'Light colours' : 'Dark colours');
  }

  // -- asking

  /** Asks while the page is seen, and not at all while it is not. */
  wake() {
    clearTimeout(this.timer);
    this.listening?.abort();
    if (document.visibilityState !== 'visible') return;
    this.listen();
    this.tick();
  }

  async tick() {
    if (this.asking) {
      this.again = true;
      return this.asking;
    }
    clearTimeout(this.timer);
    this.asking = this.look().finally(() => {
      this.asking = null;
      const soon = this.again;
      this.again = false;
      if (document.visibilityState === 'visible') this.timer = setTimeout(() => this.tick(), soon ? 50 : EVERY_MS);
    });
    return this.asking;
  }

  async look() {
    try {
      const overview = await ask('overview?jobs=50&hosts=20');
      this.overview = overview;
      this.reached ??= new Set(apis(overview));
      this.answered(overview);
      showHealth(overview);
      this.hearNews(overview);
      await this.views[this.shown].show(overview);
    } catch (error) {
      if (error.status === undefined) throw error;
      await this.troubled(error);
    }
  }

  /** Asks for a part of a view: that it is refused does not hold up the others, and is said. */
  async apart(name, asking) {
    try {
      await asking();
      this.lacking.delete(name);
    } catch (error) {
      if (!error.status || error.status === 401 || error.status === 403) throw error;
      this.lacking.set(name, error.message);
    }
  }

  answered(overview) {
    this.failing = null;
    const lacking = [...this.lacking].map(([name, why]) => `${name}: ${why}`);
    say($('trouble'), lacking.length ? `Not shown: ${lacking.join('; ')}` : '');
    const { asked, cluster, members } = overview;
    colour(members.map((m) => m.id));
    say($('asked'), `${cluster ? `${cluster}, ` : ''}as ${short(asked?.id)} at ${location.host} sees it`);
  }

  async troubled(error) {
    if (error.status === 401 || error.status === 403) {
      say($('trouble'), error.message);
      if (await askToken(error.message)) this.again = true;
      return;
    }
    if (error.status && error.status !== 503) {
      // It is about what this view asks for: the rest goes on.
      say($('trouble'), error.message);
      return;
    }
    const now = performance.now();
    this.failing ??= now;
    const since = lasting((now - this.failing) / 1000);
    if (error.status) {
      say($('trouble'), `${location.host} cannot answer now: ${error.message}`);
      return;
    }
    const others = this.overview ? apis(this.overview).filter((api) => api !== location.host) : [];
    if (now - this.failing < GONE_MS) {
      say($('trouble'), `${location.host} does not answer.`);
      return;
    }
    for (const api of others) if (this.reached.has(api) && (await answers(api))) return this.goTo(api);
    // A master that came after this page was loaded cannot be tried from here, only gone to.
    const later = others.find((api) => !this.reached.has(api));
    if (later) return this.goTo(later);
    if (this.told === since) return;
    this.told = since;
    const links = others.flatMap((api) => [' ', el('a', { href: `http://${api}/`, rel: 'noreferrer' }, api)]);
    $('trouble').replaceChildren(`${location.host} does not answer, for ${since} now; what is shown is old. ${links.length ? 'Others that may:' : 'No other peer is known.'}`, ...links);
  }

  goTo(api) {
    say($('trouble'), `${location.host} does not answer. Going on at ${api}…`);
    const [route] = location.hash.split('?');
    location.replace(`http://${api}/${route || '#/'}?from=${location.host}`);
  }

  // -- news

  /** Hears of events at once; what they mean is asked for like everything else. */
  async listen() {
    const listening = this.listening = new AbortController();
    while (!listening.signal.aborted) {
      try {
        await hear(this.cursor, listening.signal, (event) => {
          this.cursor = event.id || this.cursor;
          if (!event.data) return;
          this.stirred = true;
          this.tick();
        });
      } catch { /* Begun again below; that the peer is silent is noticed by asking it. */ }
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }

  /** Tells listeners what changed among the peers, gathered for some seconds so that it does not chatter. */
  hearNews({ members }) {
    const states = new Map(members.map((m) => [m.id, m.state]));
    if (this.states) {
      for (const [id, state] of states) if (this.states.get(id) !== state) this.news.push(`peer ${short(id)} is ${state}`);
      for (const id of this.states.keys()) if (!states.has(id)) this.news.push(`peer ${short(id)} is gone`);
    }
    this.states = states;
    if (!this.news.length || this.gathering) return;
    this.gathering = setTimeout(() => {
      this.gathering = null;
      const told = this.news.length > 4 ? plural(this.news.length, 'change') + ' among the peers' : this.news.join(', ');
      this.news = [];
      tell(told[0].toUpperCase() + told.slice(1) + '.');
    }, NEWS_MS / 4);
  }
}

const dark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

const apis = ({ members }) => members.filter((m) => m.state === 'alive' && /^[\w.:[\]-]+$/.test(m.api ?? '')).map((m) => m.api);

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

new App().begin();
