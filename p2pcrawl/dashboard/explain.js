// The box "who owns this URL, and why was it (not) fetched?".

import { $, el, linked, say } from './dom.js';
import { colourOf } from './colours.js';
import { ask, path } from './remote.js';
import { at, lasting, NONE, short } from './words.js';

export class ExplainView {
  constructor(app) {
    this.app = app;
    $('explain').addEventListener('submit', (event) => {
      event.preventDefault();
      location.hash = `#/explain/${encodeURIComponent(event.target.elements.url.value.trim())}`;
      if (this.url === event.target.elements.url.value.trim()) this.explain();
    });
  }

  open(url) {
    this.url = url;
    if (!url) return;
    $('explain').elements.url.value = url;
    this.explain();
  }

  async show() {}

  async explain() {
    const { url } = this;
    const box = $('explained');
    box.replaceChildren(el('p', { class: 'note' }, 'Asking its owner…'));
    try {
      const [owner, why] = await Promise.all([ask(path(['urls', 'owner'], { url })), ask(path(['urls', 'why'], { url }))]);
      if (url === this.url) box.replaceChildren(ownerTold(owner), ...whyTold(why));
    } catch (error) {
      if (url === this.url) box.replaceChildren(el('p', { class: 'bad' }, error.message));
    }
  }
}

const pairs = (list) => el('dl', { class: 'pairs' }, ...list.filter(([, value]) => value !== null && value !== '' && value !== undefined)
  .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, ...(Array.isArray(value) ? value : [value])))));

const peer = (id, more = '') => [el('i', { class: `swatch ${colourOf(id)}` }), el('span', { class: 'id' }, short(id)), more];

function ownerTold(o) {
  return el('div', {}, el('h2', {}, 'Owner'), pairs([
    ['Owner', peer(o.owner, ` at ${o.address || NONE}${o.serving === false ? ', still taking the bucket over' : ''}`)],
    ['Bucket', String(o.bucket)],
    ['Copies at', (o.copies ?? []).flatMap((id) => peer(id, ' '))],
    ['Why there', o.why], ['Epoch', o.epoch ? String(o.epoch[0]) : ''], ['Note', o.note],
  ]));
}

function whyTold(found) {
  const list = [...(found.hints ?? []), ...(found.notes ?? [])];
  const told = [el('h2', {}, found.seen ? 'What became of it' : 'Never seen')];
  if (list.length) told.push(el('ul', {}, ...list.map((text) => el('li', {}, text))));
  return [...told, ...(found.records ?? []).map(recordTold)];
}

function recordTold(r) {
  const waits = r.next?.waits_for ? `${r.next.waits_for}${r.next.seconds ? `, ${lasting(r.next.seconds)} more` : ''}` : '';
  return el('div', { class: 'record' }, el('h3', {}, fate(r)), pairs([
    ['Job', `${r.name} (${r.job_state})`],
    ['As', [linked(r.url)]],
    ['Kind', `${r.kind}, depth ${r.depth}, priority ${r.priority}`],
    ['Found', `${r.start_url ? 'as a start URL ' : ''}at ${at(r.found)}`],
    ['On', (r.found_on ?? []).slice(0, 5).flatMap((url) => [linked(url), el('br')])],
    ['Tried', `${r.attempts}${r.losses ? `, ${r.losses} lost with its slave` : ''}`],
    ['In the hands of', r.lease ? `slave ${r.lease.session}, for ${lasting(r.lease.since_s)}, attempt ${r.lease.attempt}` : ''],
    ['Queue', r.queue ? `number ${r.queue.position} of ${r.queue.length}` : ''],
    ['Host waits for', waits],
    ['Copies', (r.copies ?? []).flatMap((copy) => peer(copy.holder, copy.agrees ? ' agrees ' : ` ${copy.state} `))],
  ]));
}

function fate(r) {
  const ended = r.ended ? ` at ${at(r.ended)}` : '';
  if (r.phase === 'done') return `Done${r.status ? `, status ${r.status}` : ''}${ended}`;
  if (r.phase === 'queued') return r.leased ? 'Being fetched' : r.reason ? `Waits for its next attempt: ${r.reason}` : 'Waits for its turn';
  return `${r.phase}: ${r.reason}${r.status ? `, status ${r.status}` : ''}${ended}`;
}
