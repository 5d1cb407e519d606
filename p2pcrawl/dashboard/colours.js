// One colour for each master, kept for as long as the page is open. Names stand beside them wherever they mean anything.

const COLOURS = 10;
const given = new Map();

/** Gives colours to masters that have none yet, in the order of their ids: at first the same on every screen. */
export function colour(ids) {
  for (const id of [...ids].sort()) if (!given.has(id)) given.set(id, given.size % COLOURS);
}

export const colourOf = (id) => (given.has(id) ? `c${given.get(id)}` : 'c-none');
