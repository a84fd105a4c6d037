// Makes every function of the sources report that it was entered: `--import` this file.
import { readFile } from 'node:fs/promises'
import module from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import { transform } from 'esbuild'
import { parseAst } from 'rolldown/parseAst'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** What is counted. Tests and what they stand in for are not. */
const OURS = /^(kernel|builtins|embed)\//

globalThis.$entered = () => {}
if (isMainThread) module.register(import.meta.url)

/** A hook of Node's: https://nodejs.org/api/module.html#loadurl-context-nextload */
export async function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts') || url.includes('/node_modules/')) return next(url, context)
  const path = relative(ROOT, fileURLToPath(url))
  const text = await readFile(fileURLToPath(url), 'utf8')
  const { code } = await transform(OURS.test(path) ? instrumented(path, text) : text, {
    ...{ loader: 'ts', format: 'esm', target: 'node20', sourcefile: path, sourcemap: 'inline' },
  })
  return { format: 'module', source: code, shortCircuit: true }
}

/** @param path relative to the checkout, as it is reported */
function instrumented(path, text) {
  const edits = []
  visit(parseAst(text, { lang: 'ts' }), node => {
    if (!/^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(node.type) || !node.body) return
    const line = text.slice(0, node.start).split('\n').length
    const call = `$entered(${JSON.stringify(path)}, ${line})`
    const { type, start, end } = node.body
    if (type === 'BlockStatement' || type === 'FunctionBody') edits.push([start + 1, `${call};`])
    else edits.push([start, `(${call}, `], [end, ')'])
  })
  let made = text
  for (const [at, put] of edits.sort(([a], [b]) => b - a)) made = made.slice(0, at) + put + made.slice(at)
  return made
}

function visit(node, see) {
  see(node)
  for (const part of Object.values(node)) {
    for (const each of Array.isArray(part) ? part : [part]) if (typeof each?.type === 'string') visit(each, see)
  }
}
