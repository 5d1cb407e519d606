// All jobs and all hosts, a page at a time.

import { $, el, say } from './dom.js';
import { hostTable } from './hosts.js';
import { jobTable, showEmpty } from './jobs.js';
import { ask, path } from './remote.js';
import { plural } from './words.js';

const STEP = 50;
const HOSTS_MAX = 500;
const SORTS = [['depth', 'deepest first'], ['late', 'slowest first'], ['name', 'by name']];
const TYPED_MS = 250;

export class JobsView {
  constructor(app) {
    this.shown = STEP;
    this.table = jobTable($('jobs-all'), app.refresh);
    this.more = document.querySelector('[data-view=jobs] .more');
    this.more.addEventListener('click', () => { this.shown += STEP; app.refresh(); });
  }

  async show(overview) {
    let { jobs } = overview;
    if (overview.jobs_total > jobs.length) jobs = (await ask(path(['overview'], { jobs: this.shown, hosts: 1 }))).jobs;
    this.table.update(jobs.slice(0, this.shown));
    showEmpty($('jobs-all'), !jobs.length);
    this.more.hidden = overview.jobs_total <= this.shown;
  }
}

export class HostsView {
  constructor(app) {
    this.shown = STEP;
    this.table = hostTable($('hosts-all'), app.refresh);
    this.form = $('find');
    this.form.elements.sort.append(...SORTS.map(([value, text]) => el('option', { value }, text)));
    this.more = document.querySelector('[data-view=hosts] .more');
    this.more.addEventListener('click', () => { this.shown = Math.min(HOSTS_MAX, this.shown + STEP); app.refresh(); });
    this.form.addEventListener('submit', (event) => event.preventDefault());
    this.form.addEventListener('input', () => {
      clearTimeout(this.typing);
      this.shown = STEP;
      this.typing = setTimeout(() => app.refresh(), TYPED_MS);
    });
  }

  async show() {
    const { find, sort } = this.form.elements;
    const told = await ask(path(['hosts'], { limit: this.shown, sort: sort.value, find: find.value.trim() }));
    this.table.update(told.hosts);
    showEmpty($('hosts-all'), !told.hosts.length);
    const cut = told.hosts.length < told.total ? `, the first ${told.hosts.length} shown` : '';
    say($('hosts-total'), `${plural(told.total, 'host')}${cut}`);
    this.more.hidden = told.hosts.length >= told.total || this.shown >= HOSTS_MAX;
  }
}
