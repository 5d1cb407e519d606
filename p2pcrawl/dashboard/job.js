// One job: how far, what went wrong, what came of it, and what can be changed.

import { act } from './acting.js';
import { $, attr, el, keyed, linked, say, sayLink, Table } from './dom.js';
import { hostTable } from './hosts.js';
import { doneOf, showEmpty, showVerbs, stateOf, verbs } from './jobs.js';
import { ask, change, path } from './remote.js';
import { at, bytes, called, count, left, moment, plural, rate } from './words.js';

const SLOW_MS = 5000;
const HOSTS_SHOWN = 25;
const ITEMS_SHOWN = 10;
const ROWS_SHOWN = 12;
const CHANGEABLE = [
  'DOWNLOAD_DELAY', 'CONCURRENT_REQUESTS_PER_DOMAIN', 'AUTOTHROTTLE_ENABLED', 'AUTOTHROTTLE_START_DELAY',
  'AUTOTHROTTLE_MAX_DELAY', 'AUTOTHROTTLE_TARGET_CONCURRENCY', 'RETRY_AFTER_MAX', 'CRAWL_DELAY_MAX', 'HOST_DOWN_AFTER',
  'DEPTH_LIMIT', 'CLOSESPIDER_PAGECOUNT', 'CLOSESPIDER_ITEMCOUNT', 'CLOSESPIDER_ERRORCOUNT', 'CLOSESPIDER_TIMEOUT',
];
const STATISTICS = [
  { head: 'Of', lead: true, show: (cell, row) => say(cell, row.at === null ? row.name : moment(row.at)) },
  ...[['Pages', 'pages'], ['Items', 'items'], ['Fetches', 'fetches'], ['Retries', 'retries'], ['Failed', 'failed']]
    .map(([head, name]) => ({ head, number: true, show: (cell, row) => say(cell, count(row[name])) })),
  { head: 'Bytes', number: true, show: (cell, row) => say(cell, bytes(row.bytes)) },
];
const FIGURES = [
  ['Pages', (j) => count(j.pages)], ['Pages/s', (j) => rate(j.pages_per_s)], ['Items', (j) => count(j.items)],
  ['Queued', (j) => count(j.queued)], ['Leased', (j) => count(j.leased)], ['Failed', (j) => count(j.failed)],
  ['Dropped', (j) => count(j.dropped)], ['Left', (j) => left(j).text],
];
const REVISITS = [
  ['To be visited again', (j) => count(j.again)], ['Visited again', (j) => count(j.revisits)],
  ['Overdue', (j) => `${count(j.overdue)}${j.oldest_due ? `, since ${moment(j.oldest_due)}` : ''}`],
  ['On time', (j) => (j.revisits ? `${(100 * (1 - j.revisits_late / j.revisits)).toFixed(1)} %` : '–')],
];

export class JobView {
  constructor(app) {
    this.app = app;
    this.buttons = verbs(['pause', 'resume', 'retry', 'cancel'], () => this.job, app.refresh);
    $('job-buttons').append(...this.buttons);
    this.hosts = hostTable($('job-hosts'), () => this.slow());
    this.statistics = new Table($('statistics'), STATISTICS, (row) => row.name);
    $('by').addEventListener('change', () => app.apart('statistics', () => this.slow()));
    $('settings').elements.name.append(...CHANGEABLE.map((name) => el('option', {}, name)));
    $('settings').addEventListener('submit', (event) => this.set(event));
    $('inject').addEventListener('submit', (event) => this.inject(event));
    this.head = document.querySelector('[data-view=job] h1');
  }

  open(number) {
    this.number = number;
    this.job = null;
    this.slow_at = -SLOW_MS;
    say(this.head, 'Job');
  }

  async show(overview) {
    const { number } = this;
    const glanced = overview.jobs.find((job) => String(job.job) === number);
    const job = glanced ?? await ask(path(['jobs', number]));
    // Another one may have been opened meanwhile.
    if (number !== this.number) return;
    this.job = job;
    say(this.head, called(job));
    const { why } = left(job);
    const spider = job.label && job.label !== job.name ? `, spider ${job.name}` : '';
    say($('job-state'), `${stateOf(job)}${spider}, number ${job.job}${job.final ? '; its certificate is final' : ''}${job.settled === false ? '; counts are not settled' : ''}${why ? `; ${why}` : ''}`);
    attr($('job-state'), 'class', `lede state ${job.state}`);
    const part = Math.round(doneOf(job) * 1000) / 1000;
    if ($('job-progress').value !== part) $('job-progress').value = part;
    keyed($('job-figures'), FIGURES, ([name]) => name, ([name]) => el('div', {}, el('dt', {}, name), el('dd')),
      (box, [, of]) => say(box.lastChild, of(job)));
    showVerbs(this.buttons, job);
    if (performance.now() - this.slow_at >= SLOW_MS) await this.slow();
  }

  /** Asks for what changes slowly, or costs more. */
  async slow() {
    this.slow_at = performance.now();
    const { number } = this;
    const parts = {
      errors: [{}, (told) => this.errors(told.errors)],
      latest: [{ limit: ITEMS_SHOWN }, (told) => this.items(told.items)],
      hosts: [{ limit: HOSTS_SHOWN }, ({ hosts }) => { this.hosts.update(hosts); showEmpty($('job-hosts'), !hosts.length); }],
    };
    const by = $('by').value;
    parts.statistics = [{ by, limit: ROWS_SHOWN }, ({ rows }) => {
      this.statistics.update(rows);
      showEmpty($('statistics'), !rows.length);
    }];
    const revisits = this.app.apart('revisits', async () => {
      const told = await ask(path(['jobs', number]));
      if (number === this.number) showRevisits(told);
    });
    await Promise.all([revisits, ...Object.entries(parts).map(([name, [query, shown]]) => this.app.apart(name, async () => {
      const told = await ask(path(['jobs', number, name], query));
      if (number === this.number) shown(told);
    }))]);
  }

  errors(list) {
    keyed($('errors'), list, (e) => e.kind, () => el('li', {}, el('details', {}, el('summary', {}, el('b'), ' ', el('span')), el('ul'))), (li, e) => {
      const [summary, examples] = li.firstChild.children;
      const [kind, rest] = summary.children;
      say(kind, e.kind);
      say(rest, e.hosts ? `${count(e.count)} on ${plural(e.hosts, 'host')}` : count(e.count));
      keyed(examples, (e.examples ?? []).slice(0, 10), (x) => `${x.url} ${x.at}`, () => el('li', {}, el('time'), el('span'), el('q')), (row, x) => {
        const [time, url, detail] = row.children;
        say(time, at(x.at));
        sayLink(url, x.url);
        say(detail, x.detail);
        detail.hidden = !x.detail;
      });
    });
    showEmpty($('errors'), !list.length);
  }

  items(list) {
    const key = (item) => `${item.url} ${item.at} ${JSON.stringify(item.item ?? item).slice(0, 500)}`;
    keyed($('items'), list.slice(0, ITEMS_SHOWN), key, (item) => el('li', {}, itemHead(item), el('code')), (li, item) => {
      say(li.lastChild, JSON.stringify(item.item ?? item));
    });
    showEmpty($('items'), !list.length);
  }

  async set(event) {
    event.preventDefault();
    const { name, value } = event.target.elements;
    const settings = { [name.value]: plainValue(value.value) };
    const asked = () => change('PATCH', path(['jobs', this.number, 'settings']), { settings });
    if (await act(asked, `${name.value} is ${value.value}.`, event.submitter)) await this.slow();
  }

  async inject(event) {
    event.preventDefault();
    const { urls } = event.target.elements;
    const list = urls.value.split('\n').map((line) => line.trim()).filter(Boolean);
    const asked = () => change('POST', path(['jobs', this.number, 'urls']), { urls: list });
    if (await act(asked, `${plural(list.length, 'URL')} put into the job.`, event.submitter)) urls.value = '';
  }
}

/** How far behind its periods a job is; nothing of one that visits no page again. */
function showRevisits(job) {
  const box = $('job-revisits');
  box.hidden = !(job.again || job.revisits);
  if (box.hidden) return;
  keyed(box, REVISITS, ([name]) => name, ([name]) => el('div', {}, el('dt', {}, name), el('dd')), (row, [, of]) => say(row.lastChild, of(job)));
}

function itemHead(item) {
  const head = el('p', { class: 'note' });
  if (item.at ?? item.fetched_at) head.append(`${at(item.at ?? item.fetched_at)} `);
  if (item.url) head.append(linked(item.url));
  return head;
}

/** Reads a value as JSON has it (numbers, true), else as text. */
export function plainValue(text) {
  try {
    return JSON.parse(text.trim());
  } catch {
    return text.trim();
  }
}
