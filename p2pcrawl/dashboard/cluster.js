// The first view: health, the ring, peers, charts, what is at work, what has happened.

import { Chart } from './charts.js';
import { colourOf } from './colours.js';
import { $, attr, el, keyed, say, Table } from './dom.js';
import { hostTable } from './hosts.js';
import { jobTable, showEmpty } from './jobs.js';
import { ask } from './remote.js';
import { RingPicture } from './ring.js';
import { at, called, count, lasting, megabytes, NONE, percent, plural, rate, short } from './words.js';

const EVENTS_MAX = 40;
const EVENTS_FIRST = 6;
const HISTORY_MS = 10000;
const MOVING_MS = 2000;
const JOBS_SHOWN = 10;
const HOSTS_SHOWN = 8;

// -- health, which stands above every view

const HEALTH = [
  ['Peers', (o) => membersTold(o.health), (o) => (o.health.suspect || o.health.dead ? 'bad' : null)],
  ['Pages/s', (o) => rate(o.health.pages_per_s)],
  ['Items/s', (o) => rate(o.health.items_per_s)],
  ['Errors/s', (o) => rate(o.health.errors_per_s)],
  ['Frontier', (o) => count(o.health.frontier)],
  ['In flight', (o) => count(o.health.in_flight)],
  ['Work', (o) => workTold(o)],
  ['View', (o) => (o.agreed ? short(o.view) : plural(new Set(o.views ?? []).size || 2, 'view')), (o) => (o.agreed ? null : 'bad')],
];

function membersTold({ up, suspect, dead }) {
  return [`${count(up)} up`, suspect && `${suspect} suspect`, dead && `${dead} dead`].filter(Boolean).join(', ');
}

function workTold({ health, jobs_total: total }) {
  if (health.jobs_running) return plural(health.jobs_running, 'job');
  if (!total) return 'no jobs';
  if (!health.finished) return 'none runs';
  return missingOf(health).length ? 'not final' : 'finished';
}

const missingOf = ({ missing }) => (Array.isArray(missing) ? missing : Object.keys(missing ?? {}));

export function showHealth(overview) {
  keyed($('health').querySelector('dl'), HEALTH, ([name]) => name, ([name]) => el('div', {}, el('dt', {}, name), el('dd')),
    (box, [, of, how]) => { say(box.lastChild, of(overview)); attr(box, 'class', how?.(overview)); });
  const warnings = [...new Set(overview.warnings ?? [])];
  if (!overview.agreed) warnings.unshift('The masters do not see the same cluster: compare the views of the peers below.');
  keyed($('warnings'), warnings, (text) => text, () => el('li'), say);
}

// -- the view

export class ClusterView {
  constructor(app) {
    this.app = app;
    this.ring = new RingPicture($('ring'), $('ring-title'));
    this.peers = new Table($('peers'), PEERS, (m) => m.id);
    this.jobs = jobTable($('jobs-now'), app.refresh);
    this.hosts = hostTable($('hosts-now'), app.refresh, 'few');
    this.charts = [
      new Chart($('throughput'), {
        title: 'Throughput', words: rate,
        lines: [
          { name: 'pages/s', class: 'l0', of: (s, step) => paced(s.pages, step) },
          { name: 'items/s', class: 'l1', of: (s, step) => paced(s.items, step) },
        ],
      }),
      new Chart($('latency'), {
        title: 'Latency', words: (ms) => (ms >= 1000 ? `${rate(ms / 1000)} s` : `${count(ms)} ms`),
        lines: [
          { name: 'half within', class: 'l0', of: (s) => s.latency_p50_ms ?? [] },
          { name: '95 % within', class: 'l1', of: (s) => s.latency_p95_ms ?? [] },
        ],
      }),
      new Chart($('answers'), {
        title: 'Answers a second', words: rate, stacked: true,
        lines: [
          ['2xx', 's2', 'status_2xx'], ['3xx', 's3', 'status_3xx'], ['4xx', 's4', 'status_4xx'], ['5xx', 's5', 'status_5xx'],
          ['none', 's0', 'errors'],
        ].map(([name, look, series]) => ({ name, class: look, of: (s, step) => paced(s[series], step) })),
      }),
    ];
    this.history_at = -HISTORY_MS;
    this.buckets_at = -MOVING_MS;
    $('span').addEventListener('change', () => { this.history_at = -HISTORY_MS; app.refresh(); });
    $('more-events').addEventListener('click', () => { this.every = true; app.refresh(); });
    $('lines').addEventListener('toggle', () => { this.history_at = -HISTORY_MS; app.refresh(); });
  }

  async show(overview) {
    const { members } = overview;
    this.peers.update(members.map((m) => ({ ...m, apart: m.state === 'alive' && m.view !== overview.view })));
    this.jobs.update(overview.jobs.slice(0, JOBS_SHOWN));
    showEmpty($('jobs-now'), !overview.jobs.length);
    say($('all-jobs'), overview.jobs_total > JOBS_SHOWN ? `All ${count(overview.jobs_total)} jobs` : 'All jobs');
    say($('all-hosts'), overview.hosts_total > HOSTS_SHOWN ? `All ${count(overview.hosts_total)} hosts` : 'All hosts');
    const hosts = overview.hosts.slice(0, HOSTS_SHOWN);
    this.hosts.update(hosts);
    showEmpty($('hosts-now'), !hosts.length);
    this.events(overview.events ?? [], overview.jobs);
    this.ring.draw(members, overview.at);
    const now = performance.now();
    const moved = overview.view !== this.view || this.app.stirred || this.ring.moving.length;
    if (moved && now - this.buckets_at >= MOVING_MS) await this.app.apart('buckets', () => this.buckets(overview, now));
    if (now - this.history_at >= HISTORY_MS) await this.app.apart('history', () => this.history(now));
  }

  async buckets(overview, now) {
    this.buckets_at = now;
    const told = await ask('buckets');
    this.view = overview.view;
    this.app.stirred = false;
    this.ring.take(told, overview.at);
    this.ring.draw(overview.members, overview.at);
  }

  async history(now) {
    this.history_at = now;
    const told = await ask(`history?minutes=${$('span').value}`);
    for (const chart of this.charts) chart.take(told);
    await this.app.apart('warnings in the logs', () => this.logLines());
  }

  async logLines() {
    const box = $('lines');
    if (!box.open) return;
    const { warnings } = await ask('warnings');
    const list = box.querySelector('ol');
    keyed(list, warnings.slice(-EVENTS_MAX).reverse(), (w) => `${w.at} ${w.peer} ${w.text}`, madeLine, (li, w) => {
      showLine(li, w.at, w.level.toLowerCase(), `${short(w.peer)}: ${w.text}`, w.level === 'WARNING' ? 'warn' : 'bad');
    });
    showEmpty(list, !warnings.length);
  }

  events(list, jobs) {
    const newest = [...list].sort((a, b) => b.at - a.at).slice(0, this.every ? EVENTS_MAX : EVENTS_FIRST);
    keyed($('events'), newest, (e) => e.id, madeLine, (li, e) => {
      showLine(li, e.at, e.kind.replaceAll('-', ' '), eventTold(e, jobs), GRAVE.has(e.kind) ? 'bad' : WARY.has(e.kind) ? 'warn' : null);
    });
    showEmpty($('events'), !newest.length);
    $('more-events').hidden = this.every || list.length <= EVENTS_FIRST;
  }
}

const paced = (list = [], step_s = 1) => list.map((value) => (value === null ? null : value / step_s));

// -- events

const GRAVE = new Set(['member-dead', 'bucket-not-whole', 'disk-full', 'majority-lost', 'sink-away', 'gap']);
const WARY = new Set(['member-suspect', 'slave-lost', 'host-down']);

const madeLine = () => el('li', {}, el('time'), el('b'), el('span'));

function showLine(li, seconds, what, rest, how) {
  const [time, kind, text] = li.children;
  say(time, at(seconds));
  attr(time, 'datetime', new Date(seconds * 1000).toISOString());
  say(kind, what);
  say(text, rest);
  attr(li, 'class', how);
}

/** Tells the details of an event in a line, in words where there are some for its kind. */
function eventTold({ kind, peer: teller, fields = {} }, jobs) {
  const { peer, peers, address, buckets, job, slave, pid, ...others } = fields;
  // Of itself a master tells without a name; what becomes of others all see alike.
  const parts = kind.startsWith('member-') || kind === 'view-changed' || kind.startsWith('job-') ? [] : [`${teller}:`];
  if (buckets !== undefined) parts.push(plural(buckets, 'bucket'));
  if (peers) parts.push(`of ${peers.map(short).join(', ')}`);
  if (peer) parts.push(`${kind === 'handover' ? 'to ' : ''}${short(peer)}`);
  if (address) parts.push(address);
  if (job !== undefined) {
    const known = jobs.find((each) => each.job === job);
    parts.push(known ? called(known) : others.label || others.name || `job ${job}`);
  }
  if (slave !== undefined) parts.push(`slave ${slave}, process ${pid}`);
  const { was, state, api, name, label, view, ...rest } = others;
  if (view) parts.push(short(view));
  if (rest.at === 'here') delete rest.at;
  if (state) parts.push(was ? `${was} → ${state}` : state);
  const told = Object.entries(rest).filter(([, value]) => value !== null && value !== '');
  return [parts.join(' '), ...told.map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)]
    .filter(Boolean).join(' · ');
}

// -- peers

const figure = (head, of) => ({ head, number: true, show: (cell, m) => say(cell, m.state === 'dead' || m.state === 'left' ? NONE : of(m)) });

const PEERS = [
  {
    head: 'Peer', lead: true,
    make: (cell) => cell.append(el('i'), el('span', { class: 'id' }), ' ', el('a', { class: 'note', rel: 'noreferrer' })),
    show: (cell, m) => {
      const [swatch, id, link] = cell.children;
      attr(swatch, 'class', `swatch ${colourOf(m.id)}`);
      say(id, short(m.id));
      say(link, m.address);
      attr(link, 'href', /^[\w.:[\]-]+$/.test(m.api ?? '') ? `http://${m.api}/` : null);
      attr(link, 'aria-label', `${m.address}, its own page`);
    },
  },
  { head: 'State', show: (cell, m) => { say(cell, m.role && m.role !== 'master' ? `${m.state}, ${m.role}` : m.state); attr(cell, 'class', `state ${m.state}`); } },
  figure('Heard', (m) => lasting(m.heartbeat_s)),
  figure('Share', (m) => percent(m.share)),
  figure('Queued', (m) => count(m.queued)),
  figure('Leased', (m) => count(m.leased)),
  figure('Slaves', (m) => count(m.slaves)),
  figure('CPU', (m) => percent(m.cpu)),
  figure('Memory', (m) => megabytes(m.rss_mb)),
  figure('Disk', (m) => megabytes(m.disk_free_mb)),
  { head: 'View', show: (cell, m) => { say(cell, m.state === 'alive' ? short(m.view) || NONE : NONE); attr(cell, 'class', m.apart ? 'id bad' : 'id'); } },
];
