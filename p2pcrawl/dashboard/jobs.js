// Tables of jobs, and what can be done to one.

import { act, sure } from './acting.js';
import { attr, el, say, Table } from './dom.js';
import { change, path } from './remote.js';
import { called, count, left, rate } from './words.js';

const DONE = { pause: 'paused', resume: 'running again', cancel: 'cancelled', retry: 'retried' };
const CAN = {
  pause: (state) => state === 'running',
  resume: (state) => state === 'paused',
  cancel: (state) => state === 'running' || state === 'paused',
  retry: (state) => state !== 'cancelled',
};
const WORDS = { pause: 'Pause', resume: 'Resume', cancel: 'Cancel…', retry: 'Retry failed' };

/** Makes buttons for verbs; `now()` returns the job, `refresh` is called when something was done. */
export function verbs(names, now, refresh) {
  return names.map((verb) => el('button', {
    type: 'button', 'data-verb': verb,
    onclick: async (event) => {
      const button = event.currentTarget;
      const job = now();
      const question = `Cancel ${called(job)}?`;
      if (verb === 'cancel' && !(await sure(question, 'It ends for good. What it has brought stays.', 'Cancel the job'))) return;
      const asked = () => change('POST', path(['jobs', job.job, verb]));
      if (await act(asked, `${called(job)} is ${DONE[verb]}.`, button)) await refresh();
    },
  }, WORDS[verb]));
}

/** Shows those buttons that a job's state allows. The focus of one that goes is given to one that comes. */
export function showVerbs(buttons, job) {
  const focused = buttons.includes(document.activeElement);
  for (const button of buttons) {
    const verb = button.dataset.verb;
    button.hidden = !CAN[verb](job.state) || (verb === 'retry' && !job.failed);
    attr(button, 'aria-label', `${WORDS[verb].replace('…', '')} ${called(job)}`);
  }
  if (focused && document.activeElement?.hidden) buttons.find((b) => !b.hidden)?.focus({ preventScroll: true });
}

export const stateOf = (job) => {
  if (job.state === 'finished' && job.final === false) return 'finished, not final';
  return job.reason ? `${job.state}: ${job.reason}` : job.state;
};

/** Returns the part of the known pages that is done. */
export function doneOf(job) {
  const over = (job.pages ?? 0) + (job.failed ?? 0) + (job.dropped ?? 0);
  const known = over + (job.queued ?? 0) + (job.leased ?? 0);
  return known ? over / known : 0;
}

export function jobTable(table, refresh) {
  const figure = (head, of, wide = false) => ({ head, number: true, wide, show: (cell, job) => say(cell, of(job)) });
  return new Table(table, [
    {
      head: 'Job', lead: true,
      make: (cell) => cell.append(el('a', { class: 'named' }), ' ', el('span', { class: 'note' })),
      show: (cell, job) => {
        const [link, number] = cell.children;
        attr(link, 'href', `#/jobs/${job.job}`);
        say(link, called(job));
        say(number, job.label && job.label !== job.name ? job.name : '');
      },
    },
    { head: 'State', show: (cell, job) => { say(cell, stateOf(job)); attr(cell, 'class', `state ${job.state}`); } },
    {
      head: 'Progress',
      make: (cell) => cell.append(el('progress', { max: 1 })),
      show: (cell, job) => {
        const bar = cell.firstChild;
        const part = Math.round(doneOf(job) * 1000) / 1000;
        if (bar.value !== part) bar.value = part;
        attr(bar, 'aria-label', `${Math.floor(part * 100)} % of the pages that are known`);
      },
    },
    figure('Pages', (job) => count(job.pages)),
    figure('Pages/s', (job) => rate(job.pages_per_s)),
    figure('Queued', (job) => count(job.queued)),
    figure('Items', (job) => count(job.items)),
    figure('Failed', (job) => count(job.failed)),
    {
      head: 'Left', number: true,
      show: (cell, job) => { const { text, why } = left(job); say(cell, text); attr(cell, 'title', why || null); },
    },
    {
      head: 'Actions',
      make: (cell, now) => { cell.buttons = verbs(['pause', 'resume'], now, refresh); cell.append(...cell.buttons); },
      show: (cell, job) => showVerbs(cell.buttons, job),
    },
  ], (job) => job.job);
}

export function showEmpty(table, empty) {
  table.hidden = empty;
  const note = [...table.parentElement.children].find((each) => each.classList.contains('empty'));
  if (note) note.hidden = !empty;
}
