/**
 * Counts the texts of `token-counts.json` anew, with the tokenizers of a folder:
 *
 *     npm install --prefix /tmp/tokenizers gpt-tokenizer@4.0.0 @anthropic-ai/tokenizer@0.0.4 llama3-tokenizer-js@1.2.0
 *     node --import tsx test/support/model/count-tokens.ts /tmp/tokenizers
 */
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [, , folder = '.'] = process.argv
const file = new URL('./token-counts.json', import.meta.url)
const { resolve } = createRequire(join(folder, 'node_modules', 'x'))
const load = (name: string) => import(pathToFileURL(resolve(name)).href)

const o200k = await load('gpt-tokenizer/encoding/o200k_base')
const cl100k = await load('gpt-tokenizer/encoding/cl100k_base')
const claude = await load('@anthropic-ai/tokenizer')
const llama3 = await load('llama3-tokenizer-js')
const count: Record<string, (text: string) => number> = {
  o200k: text => o200k.encode(text).length,
  cl100k: text => cl100k.encode(text).length,
  claude2: text => claude.countTokens(text),
  llama3: text => llama3.default.encode(text, { bos: false, eos: false }).length,
}

const texts = JSON.parse(await readFile(file, 'utf8')) as { kind: string; text: string }[]
const counted = texts.map(({ kind, text }) => ({
  kind,
  text,
  tokens: Object.fromEntries(Object.entries(count).map(([name, tokens]) => [name, tokens(text)])),
}))
await writeFile(file, `${JSON.stringify(counted, null, 2)}\n`)
