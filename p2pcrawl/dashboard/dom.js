// Elements that are made once and changed in place. All text goes in as text: much of it comes from crawled sites.

const SVG = 'http://www.w3.org/2000/svg';
const TEXT_MAX = 2000;

export const $ = (id) => document.getElementById(id);

/** Makes an element. Attributes `on*` are listeners; children are nodes or texts. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else attr(node, name, value);
  }
  node.append(...children);
  return node;
}

/** Sets an attribute if it differs; null and false take it away. */
export function attr(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
    return;
  }
  const text = value === true ? '' : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/** Sets the text of a node if it differs. */
export function say(node, value) {
  let text = String(value ?? '');
  if (text.length > TEXT_MAX) text = text.slice(0, TEXT_MAX) + '…';
  const only = node.firstChild;
  if (only && only.nodeType === Node.TEXT_NODE && !only.nextSibling) {
    if (only.data !== text) only.data = text;
  } else if (only || text) node.textContent = text;
}

/** Shows a URL from outside: a link if it is one of the web, else text. */
export function sayLink(node, url) {
  const shown = node.firstChild;
  if (shown?.nodeName === 'A' ? shown.textContent === url : shown?.data === url) return;
  node.replaceChildren(linked(url));
}

export function linked(url) {
  const text = String(url ?? '');
  try {
    const parsed = new URL(text);
    if (parsed.protocol === 'http:' || parsed.protocol === 'https:') {
      return el('a', { href: parsed.href, rel: 'noreferrer noopener', target: '_blank', class: 'url' }, text);
    }
  } catch { /* No URL: shown as it is. */ }
  return document.createTextNode(text);
}

/**
 * Makes the children of `parent` those of `list`, in its order, by their keys. Children that stay are the same
 * elements: focus, selection and open details are kept.
 */
export function keyed(parent, list, key, make, show) {
  const known = parent.keyedChildren ??= new Map();
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  const wanted = new Map();
  for (const value of list) wanted.set(String(key(value)), value);
  for (const [name, child] of known) {
    if (!wanted.has(name)) {
      child.remove();
      known.delete(name);
    }
  }
  let place = parent.firstChild;
  for (const [name, value] of wanted) {
    let child = known.get(name);
    if (!child) {
      child = make(value);
      known.set(name, child);
    }
    child.value = value;
    show(child, value);
    if (child === place) place = place.nextSibling;
    else parent.insertBefore(child, place);
  }
  if (!focused || document.activeElement === focused) return;
  if (focused.isConnected) focused.focus({ preventScroll: true });
  else parent.closest('section, [data-view]')?.querySelector('h1, h2')?.focus({ preventScroll: true });
}

/**
 * Fills a table. A column is {head, show(cell, row)}, and if wanted {make(cell, now)} to put things into its cells that
 * stay (`now()` returns the row as it is then), `number` for figures, `lead` for the one that names the row.
 */
export class Table {
  constructor(table, columns, key) {
    this.columns = columns;
    this.key = key;
    // Roles are written out: narrow screens show rows as blocks, which takes them from some readers.
    const head = columns.map((c) => el('th', { scope: 'col', role: 'columnheader', class: kind(c) }, c.head));
    attr(table, 'role', 'table');
    this.body = el('tbody', { role: 'rowgroup' });
    table.append(el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...head)), this.body);
  }

  update(rows) {
    keyed(this.body, rows, this.key, () => this.made(), (tr, row) => {
      for (let i = 0; i < this.columns.length; i++) this.columns[i].show(tr.children[i], row);
    });
  }

  made() {
    const tr = el('tr', { role: 'row' });
    for (const column of this.columns) {
      const cell = column.lead
        ? el('th', { scope: 'row', role: 'rowheader', class: kind(column) })
        : el('td', { role: 'cell', class: kind(column), 'data-head': column.head });
      column.make?.(cell, () => tr.value);
      tr.append(cell);
    }
    return tr;
  }
}

function kind(column) {
  return [column.number && 'number', column.lead && 'lead', column.wide && 'wide'].filter(Boolean).join(' ') || null;
}
