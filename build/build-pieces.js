// What makes a bundle's modules quick to load: see `pieces.ts`.
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { transform } from 'esbuild'
import { parseAst } from 'rolldown/parseAst'

/** In lines, none the less: for an uncaught error, Node shows the whole line that threw it. */
export const small = { minifySyntax: true, minifyWhitespace: true, lineLimit: 120 }

/** Calls of zod that take the fields of an object. */
const SHAPED = /^z\.(object|strictObject|looseObject)$|\.(extend|safeExtend)$/

const OURS = /\/(kernel|builtins)\/.*\.ts$/
const FIELD = `export const field = (shape, name, value) =>
  (Object.defineProperty(shape, name, { value, enumerable: true, configurable: true, writable: true }), value)`

/**
 * A field of `z.object({ … })` becomes an accessor that makes its schema when that is asked for, once: zod reads a shape when
 * it first parses or describes. Of some eight thousand schemas a process uses a few hundred.
 */
export const lazyFields = {
  name: 'lazy-fields',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^lazy-field$/ }, ({ path }) => ({ path, namespace: 'lazy-field', sideEffects: false }))
    onLoad({ filter: /./, namespace: 'lazy-field' }, () => ({ contents: FIELD }))
    onLoad({ filter: OURS }, async ({ path }) => ({
      contents: withLazyFields(await readFile(path, 'utf8')),
      loader: 'ts',
    }))
  },
}

/** The same for Vite, as which tests load the sources. */
export const lazyFieldsInTests = {
  name: 'lazy-fields',
  enforce: 'pre',
  resolveId: source => (source === 'lazy-field' ? '\0lazy-field' : undefined),
  load: id => (id === '\0lazy-field' ? FIELD : undefined),
  transform: (text, id) => (OURS.test(id) ? { code: withLazyFields(text), map: null } : undefined),
}

function withLazyFields(text) {
  if (!/\bz\b[^;']*\} from '(#kernel|zod)'/.test(text)) return text
  const edits = []
  walk(parseAst(text, { lang: 'ts' }), node => {
    const [shape] = node.type === 'CallExpression' && SHAPED.test(wordsOf(text, node.callee)) ? node.arguments : []
    if (shape?.type !== 'ObjectExpression') return
    for (const { type, key, value, computed } of shape.properties) {
      if (type !== 'Property' || computed || value.type !== 'CallExpression' || isBound(value)) continue
      const name = JSON.stringify(key.name ?? key.value)
      edits.push([key.start, key.start, 'get '])
      edits.push([key.end, value.start, `() { return $field(this, ${name}, `])
      edits.push([value.end, value.end, ') }'])
    }
  })
  if (edits.length === 0) return text
  return `${edited(text, edits)}\nimport { field as $field } from 'lazy-field'\n`
}

/**
 * A module of the bundle as a piece: a script that takes what it needs of others by `require`, and imports what it may need by
 * `importPiece`.
 * @param name the module's file
 * @param imports as esbuild's metafile tells them
 */
export async function scriptOf(name, text, imports) {
  const { code } = await transform(withoutNames(text), {
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    // The ending says how CommonJS packages are taken in: as Node does.
    sourcefile: name.replace(/js$/, 'mjs'),
    define: { 'import.meta.url': 'importMetaUrl' },
    ...small,
    legalComments: 'none',
    logLevel: 'warning',
  })
  const paths = imports
    .filter(({ kind }) => kind === 'dynamic-import')
    .map(({ path, external }) => (external ? path : `./${basename(path)}`))
  const script = paths.reduce((all, path) => all.replaceAll(`import("${path}")`, `importPiece("${path}")`), short(code))
  return sharingShapes(script)
}

/**
 * The V8 of Node 20 gives each object that `{ ...some, more }` makes a hidden class of its own, which takes ten times as long and
 * some three hundred bytes; behind a spread of nothing they share one. Later ones share it anyway.
 */
export function sharingShapes(code) {
  const edits = []
  walk(parseAst(code), ({ type, properties }) => {
    if (type !== 'ObjectExpression' || properties.length < 2) return
    const [{ type: first, start }] = properties
    if (first === 'SpreadElement') edits.push([start, start, '...null,'])
  })
  return edited(code, edits)
}

/** esbuild calls a module by its file at each use of what it exports: a twelfth of all text. */
function short(code) {
  const names = new Map()
  if (/\$m\d/.test(code)) throw new Error('a name such as $m1 is in use; take another one for modules')
  return code.replace(/\bimport_part_[A-Z0-9]{8}\b/g, long => {
    if (!names.has(long)) names.set(long, `$m${names.size}`)
    return names.get(long)
  })
}

/**
 * esbuild gives every function the name that it had before it was bundled, which costs each of them a hundred bytes and more.
 * Most still have it.
 */
export function withoutNames(text) {
  const edits = []
  const named = node =>
    node?.type === 'CallExpression' && node.callee.name === '__name' ? node.arguments.map(unquoted) : []
  const unwrap = (place, made) => {
    const [, name] = named(made)
    const [{ start, end } = {}] = name !== undefined && name === place.name ? made.arguments : []
    if (start !== undefined) edits.push([made.start, start, ''], [end, made.end, ''])
  }
  walk(parseAst(text), node => {
    if (node.type === 'VariableDeclarator') unwrap(node.id, node.init)
    if (node.type === 'AssignmentExpression') unwrap(node.left, node.right)
    if (node.type === 'Property' && !node.computed) unwrap(node.key, node.value)
    const [bound, name] = named(node)
    if (name !== undefined && bound === name) edits.push([node.start, node.end, '0'])
  })
  return edited(text, edits)
}

/** An identifier, or what a text says. */
const unquoted = ({ name, value }) => name ?? value

/** @param edits each from where, to where, and what stands there instead */
function edited(text, edits) {
  const parts = []
  let at = 0
  for (const [from, to, put] of edits.sort(([a], [b]) => a - b)) {
    parts.push(text.slice(at, from), put)
    at = to
  }
  return `${parts.join('')}${text.slice(at)}`
}

/** What it is that is called, without the arguments of what is called before: `z.object`, `Base.extend`. */
const wordsOf = (text, { type, object, property, ...node }) =>
  type !== 'MemberExpression' ? text.slice(node.start, node.end) : `${wordsOf(text, object)}.${property.name}`

/** An accessor has another `this`, and waits for nothing. */
function isBound(node) {
  let found = false
  walk(node, ({ type }) => {
    found ||= type === 'ThisExpression' || type === 'AwaitExpression' || type === 'YieldExpression'
  })
  return found
}

function walk(node, see) {
  see(node)
  for (const part of Object.values(node)) {
    for (const each of Array.isArray(part) ? part : [part]) if (typeof each?.type === 'string') walk(each, see)
  }
}
