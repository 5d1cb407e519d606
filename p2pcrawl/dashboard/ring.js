// The ring: an arc for each master's share, the copies of it inside, and outside the buckets that have just come, in
// the colour of who had them.

import { attr, keyed, say, svg } from './dom.js';
import { colourOf } from './colours.js';
import { count, percent, plural, short } from './words.js';

const NEW_S = 20;
const OUTER = [150, 168];
const NEWS = [172, 180];
const COPY = { from: 143, width: 9, gap: 3 };
const GAP = 0.022;
const TURN = 2 * Math.PI;

export class RingPicture {
  constructor(root, title) {
    this.title = title;
    this.news = svg('g', { class: 'news' });
    this.arcs = svg('g');
    this.waiting = svg('g', { class: 'waiting' });
    this.copies = svg('g', { class: 'copies' });
    this.labels = svg('g', { class: 'labels' });
    this.middle = [svg('text', { class: 'big', y: -8 }), svg('text', { y: 14 }), svg('text', { y: 32 })];
    root.append(this.news, this.copies, this.arcs, this.waiting, this.labels, svg('g', { class: 'middle' }, ...this.middle));
    this.owners = [];
    this.holders = [];
    this.moving = [];
    this.moves = [];
  }

  /** Takes in an answer about buckets, and notes which have changed hands since the one before. */
  take(told, now) {
    const owners = unrolled(told.owner_of).map((index) => told.owners[index]);
    if (this.owners.length === owners.length) this.notice(owners, now);
    this.owners = owners;
    this.holders = unrolled(told.copies_of ?? []).map((indices) => indices.map((index) => told.owners[index]));
    this.moving = told.moving;
  }

  notice(owners, now) {
    const counts = new Map();
    owners.forEach((to, bucket) => {
      const from = this.owners[bucket];
      if (from !== to) counts.set(`${from} ${to}`, (counts.get(`${from} ${to}`) ?? 0) + 1);
    });
    for (const [pair, buckets] of counts) {
      const [from, to] = pair.split(' ');
      this.moves.push({ key: `${pair} ${now}`, from, to, buckets, until: now + NEW_S });
    }
  }

  draw(members, now) {
    const shares = tally(this.owners);
    const states = new Map(members.map((m) => [m.id, m.state]));
    const present = [...shares.keys()].sort();
    const gap = present.length > 1 ? GAP : 0;
    const scale = (TURN - gap * present.length) / Math.max(1, this.owners.length);
    this.moves = this.moves.filter((move) => move.until > now).slice(-60);
    const waiting = tally(this.moving.map((bucket) => this.owners[bucket]));
    const [arcs, copies, news] = [[], [], []];
    let angle = -TURN / 4 + gap / 2;
    for (const id of present) {
      const end = angle + shares.get(id) * scale;
      const pale = Math.min(end, angle + (waiting.get(id) ?? 0) * scale);
      arcs.push({ id, from: angle, to: end, pale, share: shares.get(id) / this.owners.length, state: states.get(id) });
      let at = angle;
      for (const move of this.moves.filter((each) => each.to === id)) {
        const to = Math.min(end, at + move.buckets * scale);
        news.push({ ...move, start: at, end: to });
        at = to;
      }
      copies.push(...this.copiesIn(id, angle, scale));
      angle = end + gap;
    }
    keyed(this.arcs, arcs, (a) => a.id, () => svg('path', {}, svg('title')), (path, a) => {
      attr(path, 'd', sector(...OUTER, a.from, a.to));
      attr(path, 'class', `arc ${colourOf(a.id)} ${a.state ?? 'gone'}`);
      say(path.firstChild, `${short(a.id)} owns ${percent(a.share)}`);
    });
    keyed(this.waiting, arcs.filter((a) => a.pale > a.from), (a) => a.id, () => svg('path', {}, svg('title')), (path, a) => {
      attr(path, 'd', sector(...OUTER, a.from, a.pale));
      say(path.firstChild, `${plural(waiting.get(a.id), 'bucket')} are being taken over by ${short(a.id)}`);
    });
    keyed(this.news, news, (m) => m.key, () => svg('path', {}, svg('title')), (path, m) => {
      attr(path, 'd', sector(...NEWS, m.start, m.end));
      attr(path, 'class', colourOf(m.from));
      say(path.firstChild, `${plural(m.buckets, 'bucket')} came to ${short(m.to)} from ${short(m.from)}`);
    });
    keyed(this.copies, copies, (c) => c.key, () => svg('path', {}, svg('title')), (path, c) => {
      attr(path, 'd', sector(c.inner, c.outer, c.from, c.to));
      attr(path, 'class', colourOf(c.holder));
      say(path.firstChild, `${short(c.holder)} keeps copies of ${plural(c.buckets, 'bucket')} of ${short(c.owner)}`);
    });
    this.label(arcs);
    this.tell(members, present);
  }

  copiesIn(owner, start, scale) {
    const drawn = [];
    const ranks = [];
    this.owners.forEach((each, bucket) => {
      if (each !== owner) return;
      (this.holders[bucket] ?? []).filter((id) => id !== owner).forEach((id, rank) => {
        const counts = ranks[rank] ??= new Map();
        counts.set(id, (counts.get(id) ?? 0) + 1);
      });
    });
    ranks.forEach((counts, rank) => {
      const outer = COPY.from - rank * (COPY.width + COPY.gap);
      let angle = start;
      for (const holder of [...counts.keys()].sort()) {
        const buckets = counts.get(holder);
        const key = `${owner} ${rank} ${holder}`;
        const to = angle + buckets * scale;
        drawn.push({ key, owner, holder, buckets, inner: outer - COPY.width, outer, from: angle, to });
        angle = to;
      }
    });
    return drawn;
  }

  label(arcs) {
    keyed(this.labels, arcs, (a) => a.id, () => svg('text', {}, svg('tspan', { class: 'id' }), svg('tspan')), (text, a) => {
      const middle = (a.from + a.to) / 2;
      const [x, y] = polar(NEWS[1] + 9, middle);
      const side = Math.cos(middle);
      attr(text, 'text-anchor', Math.abs(side) < 0.2 ? 'middle' : side > 0 ? 'start' : 'end');
      const [first, second] = text.children;
      // Above and below the ring the two lines stand away from it; at its sides, around the middle of the arc.
      const lift = Math.sin(middle) * 9;
      attr(first, 'x', x); attr(first, 'y', fixed(y + lift - 3));
      attr(second, 'x', x); attr(second, 'y', fixed(y + lift + 11));
      say(first, short(a.id));
      say(second, a.state && a.state !== 'alive' ? a.state : percent(a.share));
    });
  }

  tell(members, present) {
    const copies = Math.max(0, ...this.holders.map((held) => held.length));
    say(this.middle[0], plural(present.length, 'master'));
    say(this.middle[1], `${count(this.owners.length)} buckets`);
    say(this.middle[2], this.moving.length ? `${count(this.moving.length)} on their way` : copies > 1 ? `${copies} copies of each` : 'no copies');
    const shares = tally(this.owners);
    const text = present.map((id) => `${short(id)} ${percent(shares.get(id) / this.owners.length)}`).join(', ');
    say(this.title, `The ring: ${plural(present.length, 'master')} own ${count(this.owners.length)} buckets: ${text}.`);
  }
}

/** Unrolls [[value, how often], ...]. */
function unrolled(runs) {
  const all = [];
  for (const [value, times] of runs) for (let i = 0; i < times && all.length < 65536; i++) all.push(value);
  return all;
}

function tally(owners) {
  const counts = new Map();
  for (const id of owners) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

const fixed = (value) => Math.round(value * 10) / 10;
const polar = (radius, angle) => [fixed(radius * Math.cos(angle)), fixed(radius * Math.sin(angle))];

function sector(inner, outer, from, to) {
  // A whole ring is no arc: its ends would be one point.
  const end = Math.min(to, from + TURN - 0.0001);
  const wide = end - from > Math.PI ? 1 : 0;
  const [a, b, c, d] = [polar(outer, from), polar(outer, end), polar(inner, end), polar(inner, from)];
  return `M${a}A${outer} ${outer} 0 ${wide} 1 ${b}L${c}A${inner} ${inner} 0 ${wide} 0 ${d}Z`;
}
