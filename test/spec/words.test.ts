import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const FOLDERS = ['build', 'builtins', 'dashboard', 'docs', 'embed', 'examples', 'kernel', 'plugins', 'profiles', 'test']
const TEXT = /\.(ts|tsx|js|cjs|md|yaml|css|html)$/
const THIS = 'test/spec/words.test.ts'

/** Words that must not come back, each with the terms to use instead. */
const REPLACED: readonly { word: RegExp; use: string }[] = [
  { word: /\btold\b/i, use: 'emitted, reported, sent, logged' },
  { word: /\btells\b/i, use: 'reports, sends, shows; distinguishes' },
  { word: /\bunless told\b/i, use: 'by default' },
  { word: /\bso many\b(?! that)/i, use: 'the number, the maximum' },
  { word: /\bso often\b(?! that)/i, use: 'the interval, the maximum' },
  { word: /\bof its own accord\b/i, use: 'by itself' },
  { word: /\b(whoever|somebody)\b/i, use: 'the caller, the reader, someone' },
  // An id that no agent has is called nobody in examples and tests.
  { word: /(?<![/'"`(:= -])\bnobody\b(?![-:'"`/?\\’])/i, use: 'no one; or leave it out' },
  { word: /\b(fared|lived|heard)\b/i, use: 'recordOutcome, run, received' },
  { word: /\b(rooms|the room|this room|each room|every room|other room|no room of)\b/, use: 'module' },
  { word: /\b(houses?|housed)\b/i, use: 'project; in tests: test host' },
  { word: /\battic\b/i, use: 'trash' },
  { word: /\b(tapes?)\b(?!\.gz)/i, use: 'recording, log' },
  { word: /\b(shelf|shelves)\b/i, use: 'cache, store' },
  { word: /\b(farewells?)\b/i, use: 'delete hook' },
  { word: /\b(keepers?|desks?)\b/i, use: 'service' },
  { word: /\bwitness(es)?\b/i, use: 'invariant checker' },
  { word: /\b(doors?)\b/i, use: 'entry point, listener' },
  { word: /\bjanitor\b/i, use: 'retention' },
  { word: /\b(sieves?|deeds?)\b/i, use: 'prefilter; action' },
  { word: /\bfaces\b|\b(HttpFace|CliFace)\b|\bface: '/, use: 'interface, HttpRoute, CliCommand, via' },
  { word: /\bsentence: \(|\bforgets\(svc/, use: 'message; addRetentionRule' },
]

/** Names of functions that do not say what they do or return. */
const BARE =
  /\bfunction\*? (absent|again|alike|alone|answering|began|begins|beside|both|changed|decided|drives|elsewhere|everyone|fits|found|full|kept|lacking|listed|missing|none|others|over|own|restless|running|said|saying|says|shown|standing|stands|started|starting|taken|tell|unchanged|unread|waits|whole|within|without|worth|wrong|wrote)[(<]/

/** Places that keep such a word, and why. */
const KEPT: readonly { where: RegExp; why: string }[] = [
  { where: /^builtins\/.*\/migrations(\.ts|\/)/, why: 'A released migration never changes.' },
  {
    where: /^builtins\/society\/(economy|suffering)\//,
    why: "The specification's economy: its account 'house', stored fields.",
  },
  {
    where: /^builtins\/safety\/guardrails\/|^test\/spec\/safety\/guardrails/,
    why: 'Words of attacks that are detected.',
  },
  { where: /^builtins\/core\/models\/sim\//, why: 'Words that the simulated model writes and reads.' },
  { where: /^builtins\/lab\/(demos\/cases|benchmark\/scenarios|simulation)\//, why: 'Stories that models read.' },
  { where: /^test\/support\/simulation\//, why: 'Stories that models read.' },
  { where: /^test\/kernel\/testing\.test\.ts$|deprecated\.ts$/, why: 'Earlier names, for one version.' },
  { where: /^builtins\/core\/goals\/context\/guarded\.ts$/, why: 'An earlier field, for one version.' },
  { where: /^builtins\/interfaces\/rest\/client-operations\.ts$|^docs\/reference\//, why: 'Generated.' },
  { where: /^test\/golden\/|^test\/support\/model\/|public-names\.txt$/, why: 'Recorded.' },
  {
    where: /^test\/(browser\/dashboard\/agent|spec\/core\/agents\/checkpoints-host)\.ts$/,
    why: 'A stored field of suffering.',
  },
  { where: /^profiles\//, why: 'Prompts, whose wording was measured.' },
]

const LINES = FOLDERS.flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter(path => TEXT.test(path) && !/node_modules|\/dist\//.test(path) && path !== THIS)
    .filter(path => !KEPT.some(({ where }) => where.test(path)))
    .flatMap(path =>
      readFileSync(join(ROOT, path), 'utf8')
        .split('\n')
        .map((text, n) => ({ at: `${path}:${n + 1}`, text })),
    ),
)

/** Lines that keep the earlier name of a method, for one version. */
const EARLIER = /withEarlierNames\(|^\s*fared\?: |\.fared!\(|sentence: \(p(arams)?: |via: 'mcp', face/

/** Lines of stories that models read in tests and examples. */
const STORY =
  /Look at <b>the door|Look at the door|behind a locked door|red door|\{\{which\}\} door|'doors'|title: 'Doors'|keeps? (the )?house|palm house|Build a house|whole house|shed behind the house|against the house|'house'|the house as its account|Keeper|same shelf|Dust the shelves|of: 'door'|"?door\.png|'The door\.'|front-desk/

describe('names, comments, texts and tests', () => {
  it('READMEs of modules have at most 60 lines each and 15,000 words together', () => {
    const pages = readdirSync(join(ROOT, 'builtins'), { recursive: true, encoding: 'utf8' })
      .filter(name => /[/\\]README\.md$/.test(name))
      .map(name => ({ name, text: readFileSync(join(ROOT, 'builtins', name), 'utf8') }))
    expect(pages.filter(({ text }) => text.split('\n').length > 61).map(({ name }) => name)).toEqual([])
    const words = pages.flatMap(({ text }) => text.split(/\s+/).filter(word => /\w/.test(word)))
    expect(words.length).toBeLessThanOrEqual(15_000)
    expect(pages.length).toBeGreaterThan(50)
  })

  it('functions of the program are named for what they do or return', () => {
    const program = LINES.filter(({ at }) => /^(kernel|builtins|embed|build|test\/support)\//.test(at))
    expect(program.filter(({ text }) => BARE.test(text)).map(({ at, text }) => `${at}: ${text.trim()}`)).toEqual([])
  })

  it.each(REPLACED)('do not say $word', ({ word, use }) => {
    const found = LINES.filter(({ text }) => word.test(text) && !STORY.test(text) && !EARLIER.test(text)).map(
      ({ at, text }) => `${at}: ${text.trim()}`,
    )
    expect(found, `say instead: ${use}`).toEqual([])
  })
})
