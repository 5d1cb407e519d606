// Buttons and forms that change something: the token is asked for when it is wanted, and what came of it is said.

import { $, say } from './dom.js';
import { hasToken, keepToken, Refused } from './remote.js';

let quiet = 0;

/** Says something to everybody, those who listen to the page too. */
export function tell(text, bad = false) {
  const said = $('said');
  said.className = bad ? 'bad' : '';
  say(said, text);
  clearTimeout(quiet);
  if (!bad) quiet = setTimeout(() => say(said, ''), 6000);
}

/** Does what a person wants, once more after asking for a token if it was refused for want of one. True: it is done. */
export async function act(doing, done, button = null) {
  if (button?.disabled) return false;
  const focused = document.activeElement;
  if (button) button.disabled = true;
  try {
    for (let tried = 0; ; tried++) {
      try {
        if (!hasToken() && !(await askToken('Changes need the token of this peer.'))) return false;
        const answer = await doing();
        tell(typeof done === 'function' ? done(answer) : done);
        return true;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        const refused = error.status === 401 || error.status === 403;
        if (tried || !refused || !(await askToken(error.message))) {
          tell(`Not done: ${error.message}`, true);
          return false;
        }
      }
    }
  } finally {
    if (button) button.disabled = false;
    // A button that is disabled for a while loses the focus.
    if (document.activeElement === document.body && focused?.isConnected) focused.focus({ preventScroll: true });
  }
}

/** Opens a dialog, and waits for the value of the button that closes it: "" for Escape. */
export function opened(dialog) {
  return new Promise((resolve) => {
    dialog.returnValue = '';
    dialog.addEventListener('close', () => resolve(dialog.returnValue), { once: true });
    dialog.showModal();
  });
}

let asking = null;

/** Asks for the token, once for all that want it. True: there is another one. */
export function askToken(why) {
  asking ??= (async () => {
    const dialog = $('token-box');
    const field = dialog.querySelector('input');
    say($('token-why'), why);
    field.value = '';
    const wish = await opened(dialog);
    const text = field.value.trim();
    field.value = '';
    if (wish === 'forget') keepToken('');
    if (wish !== 'keep' || !text) return false;
    keepToken(text);
    return true;
  })().finally(() => { asking = null; });
  return asking;
}

export async function sure(question, why, yes) {
  say($('sure-head'), question);
  say($('sure-why'), why);
  const dialog = $('sure-box');
  say(dialog.querySelector('[value=yes]'), yes);
  return (await opened(dialog)) === 'yes';
}
