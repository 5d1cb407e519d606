// Tables of hosts: how deep, whose, when next, why slow; and the dialog that changes one.

import { act, opened } from './acting.js';
import { $, attr, el, say, Table } from './dom.js';
import { colourOf } from './colours.js';
import { change, path } from './remote.js';
import { count, lasting, NONE, short } from './words.js';

/** Makes a table; `which` says how much of it: "few" columns or all. */
export function hostTable(table, refresh, which = 'all') {
  const figure = (head, of) => ({ head, number: true, show: (cell, row) => say(cell, of(row)) });
  const columns = [
    { head: 'Host', lead: true, make: (cell) => cell.append(el('bdi')), show: (cell, row) => say(cell.firstChild, row.host) },
    figure('Queued', (row) => count(row.queued) + (row.more ? '+' : '')),
    figure('Leased', (row) => count(row.leased)),
    {
      head: 'Owner',
      make: (cell) => cell.append(el('i', {}), el('span', { class: 'id' })),
      show: (cell, row) => {
        attr(cell.firstChild, 'class', `swatch ${colourOf(row.owner)}`);
        say(cell.lastChild, short(row.owner) || NONE);
      },
    },
    { head: 'Delay', number: true, show: (cell, row) => { say(cell, lasting(row.delay_s)); attr(cell, 'title', row.delay_from || null); } },
    { head: 'From', show: (cell, row) => say(cell, row.delay_from || NONE) },
    { head: 'Next in', number: true, show: (cell, row) => say(cell, nextIn(row)) },
    { head: 'Why slow', show: (cell, row) => { say(cell, row.paused ? 'paused by hand' : row.why_slow || NONE); attr(cell, 'class', row.paused ? 'warn' : null); } },
    {
      head: 'Actions',
      make: (cell, now) => cell.append(el('button', { type: 'button', onclick: (event) => alter(now(), event.currentTarget, refresh) }, 'Change…')),
      show: (cell, row) => attr(cell.firstChild, 'aria-label', `Change ${row.host}`),
    },
  ];
  const few = ['Host', 'Queued', 'Leased', 'Owner', 'Delay', 'From', 'Next in', 'Why slow', 'Actions'];
  return new Table(table, which === 'few' ? columns.filter((c) => few.includes(c.head)) : columns, (row) => row.host);
}

function nextIn(row) {
  if (row.paused || typeof row.next_at !== 'number') return NONE;
  const seconds = row.next_at - Date.now() / 1000;
  return seconds <= 0 ? 'now' : lasting(seconds);
}

async function alter(row, button, refresh) {
  const box = $('host-box');
  const { delay, paused } = box.querySelector('form').elements;
  say($('host-head'), row.host);
  delay.value = row.delay_from === 'a person' ? row.delay_s : '';
  paused.checked = !!row.paused;
  const before = { delay: delay.value, paused: paused.checked };
  if ((await opened(box)) !== 'yes') return;
  const wish = {};
  if (delay.value !== before.delay) wish.delay_s = delay.value === '' ? null : Number(delay.value);
  if (paused.checked !== before.paused) wish.paused = paused.checked;
  if (!Object.keys(wish).length) return;
  const asked = () => change('PATCH', path(['hosts', row.host]), wish);
  if (await act(asked, `${row.host} is changed.`, button)) await refresh();
}
