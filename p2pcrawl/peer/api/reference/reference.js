// Shows /openapi.json. All that it says is put in as text, never as HTML.

const place = document.getElementById('operations');
const contents = document.getElementById('contents');
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Makes an element with attributes and children; texts stay texts. */
function made(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Puts what stands between backticks into code. */
function told(text) {
  return text.split('`').map((part, number) => (number % 2 ? made('code', {}, part) : part));
}

const nameOf = (ref) => ref.split('/').pop();

/** Says a schema in a few words: `list of KnownMember`, `text, 1 to 200 characters`. */
function words(schema) {
  if (!schema || !Object.keys(schema).length) return 'anything';
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.anyOf) return schema.anyOf.map(words).join(' or ');
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(' or ');
  const types = { string: 'text', integer: 'whole number', number: 'number', boolean: 'true or false', null: 'null' };
  if (schema.type === 'array') return `list of ${words(schema.items)}`;
  if (schema.type === 'object' && schema.additionalProperties) return `object of ${words(schema.additionalProperties)}`;
  const bounds = [];
  if (schema.minimum !== undefined) bounds.push(`${schema.minimum} or more`);
  if (schema.maximum !== undefined) bounds.push(`${schema.maximum} at most`);
  if (schema.minLength) bounds.push(`${schema.minLength} characters or more`);
  if (schema.maxLength !== undefined) bounds.push(`${schema.maxLength} characters at most`);
  if (schema.pattern) bounds.push(`like ${schema.pattern}`);
  return [types[schema.type] ?? schema.type ?? 'anything', ...bounds].join(', ');
}

/** Lists the schemas that a schema speaks of, itself first, each once. */
function reached(schema, all, found = new Map()) {
  if (!schema || typeof schema !== 'object') return found;
  if (schema.$ref) {
    const name = nameOf(schema.$ref);
    if (all[name] && !found.has(name)) {
      found.set(name, all[name]);
      reached(all[name], all, found);
    }
  } else for (const each of Object.values(schema)) reached(each, all, found);
  return found;
}

function table(caption, heads, rows) {
  const head = made('tr', {}, ...heads.map((text) => made('th', { scope: 'col' }, text)));
  const body = rows.map((cells) => made('tr', {}, ...cells.map((cell) => made('td', {}, cell))));
  return made('table', { 'aria-label': caption }, made('thead', {}, head), made('tbody', {}, ...body));
}

function fields(name, schema) {
  const needed = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([key, each]) => [
    made('code', {}, key), words(each) + (needed.has(key) ? '' : ' (may be missing)'), each.description ?? '',
  ]);
  const about = schema.description ? made('p', { class: 'soft' }, schema.description) : null;
  const summary = made('summary', {}, made('code', {}, name));
  return made('details', {}, summary, about, rows.length ? table(`Fields of ${name}`, ['field', 'type', ''], rows) : null);
}

function content(message, all) {
  const parts = [];
  for (const [type, { schema }] of Object.entries(message.content ?? {})) {
    parts.push(made('p', {}, made('code', {}, type), `: ${words(schema)}`));
    for (const [name, each] of reached(schema, all)) parts.push(fields(name, each));
  }
  return parts;
}

function rankOf(operation) {
  if (!operation.security.length) return ['open', 'open to everybody'];
  const change = operation.security.some((each) => 'change' in each);
  return change ? ['change', 'needs the token'] : ['read', 'needs a token where the API is not on loopback only'];
}

function example(method, path, operation) {
  const needed = (operation.parameters ?? []).filter((each) => each.in === 'query' && each.required);
  const query = needed.length ? `?${needed.map((each) => `${each.name}=...`).join('&')}` : '';
  const words = ['curl'];
  if (method !== 'get') words.push('-X', method.toUpperCase());
  if (rankOf(operation)[0] === 'change') words.push('-H "Authorization: Bearer $P2PCRAWL_TOKEN"');
  if (operation.requestBody) words.push("-d '{...}'");
  return `${words.join(' ')} '${location.origin}${path}${query}'`;
}

function article(method, path, operation, document) {
  const { schemas, responses } = document.components;
  const [rank, needs] = rankOf(operation);
  const head = made('h3', {}, made('span', { class: 'method' }, method.toUpperCase()), ' ', made('code', {}, path));
  const parts = [head, made('p', {}, operation.summary, '. ', made('span', { class: `rank ${rank}` }, needs))];
  if (operation.parameters) {
    const rows = operation.parameters.map((each) => [
      made('code', {}, each.name), each.in + (each.required ? '' : ', may be missing'), words(each.schema), made('span', {}, ...told(each.description)),
    ]);
    parts.push(made('h4', {}, 'Parameters'), table('Parameters', ['name', 'in', 'type', ''], rows));
  }
  if (operation.requestBody) parts.push(made('h4', {}, 'Body'), ...content(operation.requestBody, schemas));
  parts.push(made('h4', {}, 'Answer'));
  const refusals = [];
  for (const [status, answer] of Object.entries(operation.responses)) {
    if (answer.$ref) refusals.push([status, responses[nameOf(answer.$ref)].description]);
    else parts.push(made('p', {}, made('strong', {}, status), ' ', answer.description), ...content(answer, schemas));
  }
  parts.push(made('details', {}, made('summary', {}, 'Refusals'), table('Refusals', ['status', 'why'], refusals)));
  parts.push(made('h4', {}, 'By hand'), made('pre', { tabindex: '0' }, example(method, path, operation)));
  return made('article', { id: operation.operationId, 'data-words': `${method} ${path} ${operation.summary}`.toLowerCase() }, ...parts);
}

function show(document_) {
  document.getElementById('title').textContent = `The API of ${document_.info.title}, version ${document_.info.version}`;
  const paragraphs = document_.info.description.split('\n\n');
  document.getElementById('about').replaceChildren(...paragraphs.map((each) => made('p', {}, ...told(each))));
  const sections = [];
  contents.replaceChildren();
  for (const { name } of document_.tags) {
    const articles = [];
    const links = [];
    for (const [path, methods] of Object.entries(document_.paths)) {
      for (const method of METHODS.filter((each) => methods[each]?.tags.includes(name))) {
        const operation = methods[method];
        articles.push(article(method, path, operation, document_));
        links.push(made('li', { 'data-for': operation.operationId }, made('a', { href: `#${operation.operationId}` }, `${method.toUpperCase()} ${path}`)));
      }
    }
    sections.push(made('section', {}, made('h2', {}, name), ...articles));
    contents.append(made('ul', { 'aria-label': name }, ...links));
  }
  place.replaceChildren(...sections);
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

function narrow(text) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const each of place.querySelectorAll('article')) {
    each.hidden = !wanted.every((word) => each.dataset.words.includes(word));
    contents.querySelector(`[data-for="${each.id}"]`).hidden = each.hidden;
  }
  for (const each of place.querySelectorAll('section')) each.hidden = !each.querySelector('article:not([hidden])');
}

document.getElementById('find').addEventListener('input', (event) => narrow(event.target.value));
try {
  const answer = await fetch('/openapi.json');
  if (!answer.ok) throw new Error(`the peer answered with status ${answer.status}`);
  show(await answer.json());
} catch (error) {
  place.replaceChildren(made('p', { role: 'alert' }, `The document cannot be shown: ${error.message}`));
}
