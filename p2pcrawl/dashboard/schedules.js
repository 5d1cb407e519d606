// Crawls on a calendar: what each does, when it is due next, and what became of its last runs.

import { act } from './acting.js';
import { $, attr, el, keyed, say, Table } from './dom.js';
import { showEmpty } from './jobs.js';
import { ask, change, path } from './remote.js';
import { moment, NONE, plural } from './words.js';

const RUNS_SHOWN = 5;
const DONE = { pause: 'is paused', resume: 'goes on', run: 'runs now' };
const WORDS = { pause: 'Pause', resume: 'Resume', run: 'Run now' };
const CAN = { pause: (state) => state === 'active', resume: (state) => state === 'paused', run: () => true };

export class SchedulesView {
  constructor(app) {
    this.table = scheduleTable($('schedules-all'), app.refresh);
  }

  async show() {
    const { schedules } = await ask(path(['schedules']));
    this.table.update(schedules);
    showEmpty($('schedules-all'), !schedules.length);
  }
}

function scheduleTable(table, refresh) {
  const text = (head, of) => ({ head, show: (cell, each) => say(cell, of(each)) });
  return new Table(table, [
    { head: 'Schedule', lead: true, make: (cell) => cell.append(el('span', { class: 'named' })), show: (cell, each) => say(cell.firstChild, each.name) },
    { head: 'State', show: (cell, each) => { say(cell, each.state); attr(cell, 'class', `state ${each.state}`); } },
    text('Does', (each) => each.does),
    text('When', (each) => `${each.cron} ${each.zone}`),
    text('Next', (each) => (each.next.length ? moment(each.next[0]) : NONE)),
    {
      head: 'Last runs',
      make: (cell) => cell.append(el('ol', { class: 'runs' }), el('span', { class: 'note' })),
      show: (cell, each) => {
        const [list, more] = cell.children;
        const last = each.runs.slice(-RUNS_SHOWN).reverse();
        keyed(list, last, (run) => `${run.at} ${run.by_hand}`, () => el('li', {}, el('a'), ' ', el('span')), showRun);
        say(more, each.runs.length > last.length ? `and ${plural(each.runs.length - last.length, 'run')} before` : last.length ? '' : 'none yet');
      },
    },
    {
      head: 'Actions',
      make: (cell, now) => {
        cell.buttons = buttons(now, refresh);
        for (const button of cell.buttons) cell.append(button, ' ');
      },
      show: (cell, each) => {
        for (const button of cell.buttons) {
          const { verb } = button.dataset;
          button.hidden = !CAN[verb](each.state);
          attr(button, 'aria-label', `${WORDS[verb]}: ${each.name}`);
        }
      },
    },
  ], (each) => each.name);
}

function showRun(line, run) {
  const [link, became] = line.children;
  say(link, moment(run.at));
  attr(link, 'href', run.job && run.state && run.state !== 'deleted' ? `#/jobs/${run.job}` : null);
  say(became, `${run.outcome === 'started' ? run.state || 'started' : run.outcome}${run.by_hand ? ', by hand' : ''}${run.why ? `: ${run.why}` : ''}`);
  attr(became, 'class', run.outcome === 'refused' || run.outcome === 'missed' ? 'warn' : null);
}

function buttons(now, refresh) {
  return ['pause', 'resume', 'run'].map((verb) => el('button', {
    type: 'button', 'data-verb': verb,
    onclick: async (event) => {
      const { name } = now();
      const asked = () => change('POST', path(['schedules', name, verb]));
      if (await act(asked, `${name} ${DONE[verb]}.`, event.currentTarget)) await refresh();
    },
  }, WORDS[verb]));
}
