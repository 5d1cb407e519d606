// Figures and names as people read them.

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const minutes = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

export const NONE = '–';
const known = (value) => typeof value === 'number' && Number.isFinite(value);

export const count = (value) => (known(value) ? whole.format(value) : NONE);
export const rate = (value) => (known(value) ? (value && value < 9.95 ? tenth : whole).format(value) : NONE);
export const percent = (part) => (known(part) ? `${tenth.format(part * 100)} %` : NONE);
export const at = (seconds) => (known(seconds) ? clock.format(seconds * 1000) : NONE);
export const moment = (seconds) => day.format(seconds * 1000);
export const hour = (seconds) => (known(seconds) ? minutes.format(seconds * 1000) : NONE);
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;
export const short = (id) => String(id ?? '').slice(0, 8);

export function megabytes(value) {
  if (!known(value)) return NONE;
  return value >= 10240 ? `${whole.format(value / 1024)} GB` : `${whole.format(value)} MB`;
}

export function bytes(value) {
  if (!known(value)) return NONE;
  if (value < 1024) return `${whole.format(value)} B`;
  const power = Math.min(4, Math.floor(Math.log2(value) / 10));
  return `${tenth.format(value / 1024 ** power)} ${'KMGT'[power - 1]}B`;
}

/** Tells a length of time in its largest unit. */
export function lasting(seconds) {
  if (!known(seconds)) return NONE;
  if (seconds < 10) return `${tenth.format(Math.max(0, seconds))} s`;
  if (seconds < 100) return `${whole.format(seconds)} s`;
  if (seconds < 5400) return `${whole.format(seconds / 60)} min`;
  if (seconds < 172800) return `${tenth.format(seconds / 3600)} h`;
  return `${whole.format(seconds / 86400)} days`;
}

/** Returns what a job is called: as people named it, else as its spider is. */
export const called = (job) => job.label || job.name || String(job.job);

/** Tells what is left of a job, no better than it is known. */
export function left(job) {
  const { seconds, pages, why } = job.left ?? {};
  if (job.state !== 'running') return { text: NONE, why: why ?? '' };
  if (known(seconds)) return { text: `${why?.startsWith('at least') ? '≥' : '≈'} ${lasting(seconds)}`, why: why ?? '' };
  return { text: known(pages) && pages ? `${count(pages)} pages` : 'unknown', why: why ?? '' };
}
