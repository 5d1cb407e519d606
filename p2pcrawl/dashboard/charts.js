// Lines and stacked areas over the last hours.

import { attr, el, keyed, say, svg } from './dom.js';
import { at, hour, NONE } from './words.js';

const SHORT_S = 900;
const [WIDTH, HEIGHT] = [360, 132];
const BOX = { left: 48, right: 352, top: 10, bottom: 112 };

export class Chart {
  /** `lines`: {name, of(series) -> figures, class}; `words` says a figure; `stacked`: areas upon each other. */
  constructor(figure, { title, lines, words, stacked = false }) {
    Object.assign(this, { lines, words, stacked, title, chosen: null });
    this.time = el('span', { class: 'when' });
    this.values = lines.map(() => el('b'));
    const legend = lines.map((line, i) =>
      el('li', {}, el('i', { class: `key ${line.class}` }), `${line.name} `, this.values[i]));
    this.grid = svg('g', { class: 'grid' });
    this.plot = svg('g');
    this.rule = svg('path', { class: 'rule' });
    this.picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': title },
      this.grid, this.plot, this.rule);
    this.picture.addEventListener('pointermove', (event) => this.point(event));
    this.picture.addEventListener('pointerleave', () => this.point(null));
    figure.append(el('figcaption', {}, el('h3', {}, title), this.time, el('ul', { class: 'legend' }, ...legend)), this.picture);
  }

  take({ from, step_s, series }) {
    this.from = from;
    this.step_s = step_s;
    const figures = this.lines.map((line) => line.of(series, step_s));
    // A young cluster knows little of these hours: what was before it is left out.
    const known = figures.map((list) => list.findIndex(Number.isFinite)).filter((i) => i >= 0);
    const first = known.length ? Math.min(...known) : 0;
    this.from += first * step_s;
    this.figures = figures.map((list) => list.slice(first));
    this.length = Math.max(0, ...this.figures.map((list) => list.length));
    this.draw();
    this.read();
  }

  draw() {
    const heights = this.stacked ? stack(this.figures, this.length) : this.figures;
    const top = nice(Math.max(0, ...heights.flat().filter(Number.isFinite)));
    this.x = (i) => BOX.left + (this.length > 1 ? (i / (this.length - 1)) : 1) * (BOX.right - BOX.left);
    const y = (value) => BOX.bottom - (value / top) * (BOX.bottom - BOX.top);
    const marks = [0, top / 2, top].map((value) => ({ y: y(value), text: this.words(value) }));
    const clock = this.length * this.step_s < SHORT_S ? at : hour;
    const times = [0, 0.5, 1].map((part) => ({
      x: BOX.left + part * (BOX.right - BOX.left),
      text: this.length ? clock(this.from + part * (this.length - 1) * this.step_s) : '',
      anchor: ['start', 'middle', 'end'][part * 2],
    }));
    keyed(this.grid, [...marks, ...times], (m) => `${m.x ?? ''} ${m.y ?? ''}`, gridMark, showMark);
    // The tallest area is drawn first, so that the lower ones lie over it.
    const drawn = this.lines.map((line, i) => ({ line, path: this.stacked ? area(heights[i], this.x, y) : route(heights[i], this.x, y) }));
    if (this.stacked) drawn.reverse();
    keyed(this.plot, drawn, (d) => d.line.name, () => svg('path'), (path, d) => {
      attr(path, 'd', d.path);
      attr(path, 'class', `${this.stacked ? 'area' : 'line'} ${d.line.class}`);
    });
  }

  point(event) {
    if (!this.length) return;
    this.chosen = null;
    if (event) {
      const box = this.picture.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * WIDTH;
      const part = (x - BOX.left) / (BOX.right - BOX.left);
      this.chosen = Math.round(Math.min(1, Math.max(0, part)) * (this.length - 1));
    }
    attr(this.rule, 'd', this.chosen === null ? null : `M${this.x(this.chosen).toFixed(1)} ${BOX.top}V${BOX.bottom}`);
    this.read();
  }

  /** Says the figures of the chosen moment, else of the last one that has any. */
  read() {
    let i = this.chosen;
    if (i === null) for (i = this.length - 1; i > 0 && !this.figures.some((list) => Number.isFinite(list[i])); i--);
    say(this.time, this.chosen === null ? 'now' : hour(this.from + i * this.step_s));
    const told = this.figures.map((list) => (Number.isFinite(list[i]) ? this.words(list[i]) : NONE));
    told.forEach((text, line) => say(this.values[line], text));
    if (this.chosen === null) {
      attr(this.picture, 'aria-label', `${this.title}: ${this.lines.map((line, n) => `${line.name} ${told[n]}`).join(', ')}`);
    }
  }
}

const gridMark = () => svg('g', {}, svg('path'), svg('text'));

function showMark(group, mark) {
  const [path, text] = group.children;
  if (mark.y !== undefined) {
    attr(path, 'd', `M${BOX.left} ${mark.y.toFixed(1)}H${BOX.right}`);
    attr(text, 'x', BOX.left - 6);
    attr(text, 'y', (mark.y + 3.5).toFixed(1));
    attr(text, 'text-anchor', 'end');
  } else {
    attr(text, 'x', mark.x);
    attr(text, 'y', HEIGHT - 4);
    attr(text, 'text-anchor', mark.anchor);
  }
  say(text, mark.text);
}

function stack(lists, length) {
  const sums = new Array(length).fill(0);
  return lists.map((list) => sums.map((_, i) => (sums[i] += list[i] || 0)));
}

/** Draws a line that is broken where there is no figure. */
function route(list, x, y) {
  let path = '';
  let open = false;
  list.forEach((value, i) => {
    if (!Number.isFinite(value)) { open = false; return; }
    path += `${open ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    if (!open && !Number.isFinite(list[i + 1])) path += 'h.1';
    open = true;
  });
  return path;
}

function area(list, x, y) {
  if (!list.length) return '';
  const points = list.map((value, i) => `${x(i).toFixed(1)} ${y(value).toFixed(1)}`);
  return `M${x(0).toFixed(1)} ${BOX.bottom}L${points.join('L')}L${x(list.length - 1).toFixed(1)} ${BOX.bottom}Z`;
}

/** Returns the next number up that reads well. */
function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 4, 5, 10].find((step) => step * power >= value * 0.999);
}
