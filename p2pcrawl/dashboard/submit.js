// A job from the page: a site by its URL, or the text of a spider.

import { act } from './acting.js';
import { $ } from './dom.js';
import { plainValue } from './job.js';
import { change } from './remote.js';

export class SubmitView {
  constructor(app) {
    this.app = app;
    this.form = $('submit');
    this.form.addEventListener('change', () => this.choose());
    this.form.addEventListener('submit', (event) => this.send(event));
    this.choose();
  }

  open() {}

  async show() {}

  choose() {
    const kind = this.form.elements.kind.value;
    for (const part of this.form.querySelectorAll('[data-kind]')) part.hidden = part.dataset.kind !== kind;
    this.form.elements.url.required = kind === 'url';
    this.form.elements.code.required = kind === 'code';
  }

  async send(event) {
    event.preventDefault();
    let job = null;
    const asked = async () => {
      const answer = await change('POST', 'jobs', submission(this.form.elements));
      job = answer.job;
      return answer;
    };
    if (!(await act(asked, (answer) => `Job ${answer.job} is submitted.`, event.submitter))) return;
    this.form.reset();
    this.choose();
    location.hash = `#/jobs/${job}`;
  }
}

function submission({ kind, url, code, label, settings, arguments: typed }) {
  const told = { settings: values(settings.value, plainValue) };
  if (label.value.trim()) told.label = label.value.trim();
  if (kind.value === 'url') return { ...told, name: new URL(url.value).hostname, urls: [url.value.trim()] };
  const text = code.value;
  // The first class that is a spider by its bases; the peer looks closer.
  const qualname = /^class\s+(\w+)\s*\([^)]*Spider[^)]*\)\s*:/m.exec(text)?.[1] ?? '';
  const name = /^\s+name\s*(?::\s*str\s*)?=\s*["']([^"']+)["']/m.exec(text)?.[1] ?? (qualname || 'spider');
  return { ...told, name, qualname, code: text, file: 'spider.py', arguments: values(typed.value, String) };
}

/** Reads lines of NAME=VALUE. */
function values(text, of) {
  const lines = text.split('\n').map((line) => line.trim()).filter((line) => line.includes('='));
  return Object.fromEntries(lines.map((line) => {
    const cut = line.indexOf('=');
    return [line.slice(0, cut).trim(), of(line.slice(cut + 1).trim())];
  }));
}
