// What asks the peer that served this page: questions, changes, and its events.

const ASK_MS = 8000;
const CHANGE_MS = 40000;

/** The peer refused, or could not be reached (`status` 0). */
export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

// A token is kept for as long as the tab is open. `#token=...` hands one over, and does not stay in the address.
const handed = /^#token=([0-9a-f]{64})$/.exec(location.hash);
if (handed) {
  keepToken(handed[1]);
  history.replaceState(null, '', location.pathname);
}

export function keepToken(text) {
  if (text) sessionStorage.setItem('token', text);
  else sessionStorage.removeItem('token');
}

export const hasToken = () => sessionStorage.getItem('token') !== null;

function headers(more = {}) {
  const token = sessionStorage.getItem('token');
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

async function call(path, options, timeout_ms) {
  let answer;
  try {
    answer = await fetch(path, {
      ...options, headers: headers(options.headers), cache: 'no-store', redirect: 'error', referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(timeout_ms),
    });
    const text = await answer.text();
    const told = text ? JSON.parse(text) : {};
    if (answer.ok) return told;
    throw new Refused(answer.status, told.error || `status ${answer.status}`);
  } catch (error) {
    if (error instanceof Refused) throw error;
    // An answer that is no JSON is cut short, or no peer's.
    throw new Refused(0, error.name === 'TimeoutError' ? 'no answer in time' : 'no connection');
  }
}

export const ask = (path) => call(`/v1/${path}`, {}, ASK_MS);

export function change(method, path, body) {
  const options = { method };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { 'Content-Type': 'application/json' };
  }
  return call(`/v1/${path}`, options, CHANGE_MS);
}

/** Makes a path of parts, and a query of what is not empty. */
export function path(parts, query = {}) {
  const asked = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  const text = parts.map(encodeURIComponent).join('/');
  return asked.length ? `${text}?${new URLSearchParams(asked)}` : text;
}

/**
 * Hears events until the signal ends it, from after the cursor on. `EventSource` cannot show a token, so the stream is
 * read here; it is begun again by whoever called, when this returns.
 */
export async function hear(cursor, signal, heard) {
  const asked = cursor ? { 'Last-Event-ID': cursor } : {};
  const answer = await fetch('/v1/events', {
    headers: headers({ ...asked, Accept: 'text/event-stream' }), cache: 'no-store', signal,
  });
  if (!answer.ok) throw new Refused(answer.status, 'no events');
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop().slice(-65536);
    for (const block of blocks) {
      const event = read(block);
      if (event) heard(event);
    }
  }
}

function read(block) {
  const event = { id: '', kind: 'message', data: '' };
  for (const line of block.split('\n')) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === 'id') event.id = value;
    else if (field === 'event') event.kind = value;
    else if (field === 'data') event.data += value;
  }
  // A place without an event only says where the stream goes on from.
  return event.id || event.data ? event : null;
}

/** Tells whether somebody answers at another peer's address, whatever the answer. */
export async function answers(api) {
  try {
    await fetch(`http://${api}/healthz`, { mode: 'no-cors', cache: 'no-store', signal: AbortSignal.timeout(1500) });
    return true;
  } catch {
    return false;
  }
}
