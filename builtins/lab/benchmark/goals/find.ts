import {
  type Files,
  fileMatches,
  grep,
  holdsJson,
  json,
  list,
  numbers,
  pad,
  read,
  run,
  type WorkGoal,
  write,
} from './kit.ts'

const TOPICS = ['harbour', 'tides', 'lamps', 'ropes', 'charts', 'winds', 'ferries', 'locks', 'buoys', 'pilots']
const FILLER = [
  'The matter was discussed and put off to the next meeting.',
  'Nothing was decided; the notes of last year still hold.',
  'Two members asked for figures, which the clerk will bring.',
  'Costs were compared, and none of the offers was taken.',
  'The weather of the week was calm, with fog in the mornings.',
]

/** Minutes of meetings: 300 documents, each of some paragraphs that say little. @param more what else one of them says, by its number */
function minutes(seed: number, more: Readonly<Record<number, string>>): Files {
  const next = numbers(seed)
  const documents = Array.from({ length: 300 }, (_, n) => {
    const topic = TOPICS[n % TOPICS.length]!
    const lines = Array.from({ length: 4 + next(12) }, () => FILLER[next(FILLER.length)]!)
    lines.splice(next(lines.length), 0, ...(more[n] ? [more[n]] : []))
    const date = `${2010 + Math.floor(n / 30)}-${pad(1 + next(12))}-${pad(1 + next(28))}`
    return [`minutes/${topic}/${pad(n, 3)}.md`, `# Meeting ${n}: ${topic}\n\nDate: ${date}\n\n${lines.join('\n\n')}\n`]
  })
  return Object.fromEntries(documents)
}

const documentOf = (n: number) => `minutes/${TOPICS[n % TOPICS.length]}/${pad(n, 3)}.md`

interface Search {
  name: string
  title: string
  asks: string
  files: () => Files
  pattern: readonly string[]
  reads: readonly string[]
  answer: unknown
}

/** A question whose answer lies in many documents. */
function search({ name, title, asks, files, pattern, reads, answer }: Search): WorkGoal {
  return {
    name,
    title,
    files,
    preset: 'researcher',
    asks: `${asks} Write the answer into answer.json, in exactly the form given, and nothing else in it.`,
    acceptance: [{ file: 'answer.json' }],
    checks: { 'the answer is right': holdsJson('answer.json', answer) },
    solution: () => [
      list(),
      ...pattern.map(each => grep(each)),
      ...reads.map(read),
      write('answer.json', json(answer)),
      read('answer.json'),
    ],
  }
}

const wardens: Readonly<Record<number, string>> = {
  41: 'Ines Holm was made warden of the north light.',
  118: 'Ines Holm asked to be relieved as warden of the north light at the end of the year.',
  203: 'Jon Berg follows Ines Holm as warden of the north light.',
  277: 'Jon Berg leaves the north light to Mara Lind.',
}

const prices: Readonly<Record<number, string>> = {
  12: 'The toll of the lock was set to 14 crowns.',
  96: 'The toll of the lock was raised by 3 crowns.',
  171: 'The toll of the lock was lowered by 5 crowns, against one vote.',
  260: 'A toll of 40 crowns for the lock was proposed, and refused.',
}

const votes: Readonly<Record<number, string>> = Object.fromEntries(
  [7, 33, 58, 90, 133, 178, 211, 246, 290].map((n, at) => [
    n,
    `Vote ${at + 1}: ${at % 3 === 0 ? 'refused' : 'carried'} with ${4 + at} to ${9 - at}.`,
  ]),
)

const CODE: Files = Object.fromEntries(
  Array.from({ length: 60 }, (_, n) => [
    `lib/part${pad(n)}.js`,
    `${n === 0 ? '' : `import { step${Math.floor((n - 1) / 2)} } from './part${pad(Math.floor((n - 1) / 2))}.js'\n\n`}${n % 17 === 5 ? '// deprecated: use the next one\n' : ''}export function step${n}(value) {\n  return value + ${n}\n}\n`,
  ]),
)

export const FIND: readonly WorkGoal[] = [
  search({
    name: 'find-last-warden',
    title: 'A fact that later documents change',
    asks: 'Who is the warden of the north light according to the latest minutes in minutes/, and which document says so? Form: {"warden": "…", "document": "minutes/…"}.',
    files: () => minutes(1, wardens),
    pattern: ['north light'],
    reads: [documentOf(277)],
    answer: { warden: 'Mara Lind', document: documentOf(277) },
  }),
  search({
    name: 'find-toll',
    title: 'A figure from several documents',
    asks: 'What is the toll of the lock after all decisions in minutes/? Proposals that were refused do not count. Form: {"crowns": 0}.',
    files: () => minutes(2, prices),
    pattern: ['toll'],
    reads: [],
    answer: { crowns: 12 },
  }),
  search({
    name: 'find-votes',
    title: 'Counting in 300 documents',
    asks: 'How many votes are recorded in minutes/, and how many of them were carried? Form: {"votes": 0, "carried": 0}.',
    files: () => minutes(3, votes),
    pattern: ['Vote \\d+'],
    reads: [],
    answer: { votes: 9, carried: 6 },
  }),
  search({
    name: 'find-missing',
    title: 'Find missing documents',
    asks: 'The minutes are numbered from 000 to 299, and some numbers are missing in minutes/. Which? Form: {"missing": ["…"]}, sorted.',
    files: () =>
      Object.fromEntries(Object.entries(minutes(4, {})).filter(([path]) => !/(017|142|288)\.md$/.test(path))),
    pattern: ['^# Meeting (16|17|18|141|142|143|287|288|289):'],
    reads: [],
    answer: { missing: ['017', '142', '288'] },
  }),
  search({
    name: 'find-contradiction',
    title: 'Two documents that contradict each other',
    asks: 'Two documents in minutes/ give different years in which the old bridge was built. Which years? Form: {"years": [1900, 1901]}, the earlier first.',
    files: () =>
      minutes(5, {
        77: 'The old bridge, built in 1874, is to be painted.',
        150: 'The bridge at the mill was built in 1902.',
        229: 'Photographs of the old bridge, built in 1847, were handed over.',
      }),
    pattern: ['old bridge'],
    reads: [documentOf(77), documentOf(229)],
    answer: { years: [1847, 1874] },
  }),
  search({
    name: 'find-callers',
    title: 'Find what depends on a module',
    asks: 'Which files in lib/ import lib/part03.js, directly? And which functions of lib/ are marked as deprecated? Form: {"importers": ["lib/…"], "deprecated": ["…"]}, both sorted.',
    files: () => CODE,
    pattern: ['part03.js', 'deprecated'],
    reads: ['lib/part05.js'],
    answer: { importers: ['lib/part07.js', 'lib/part08.js'], deprecated: ['step22', 'step39', 'step5', 'step56'] },
  }),
  {
    name: 'find-and-quote',
    title: 'An answer with its source',
    preset: 'researcher',
    asks: 'Why was the ferry of the east stopped? Answer in answer.md in one sentence. Below it, after "> ", quote word for word the line of the document in minutes/ that says so. In the last line, give the path of the document.',
    files: () =>
      minutes(6, {
        64: 'The ferry of the west was stopped because of ice.',
        186: 'The ferry of the east was stopped, since its boiler had failed the inspection twice.',
      }),
    acceptance: [{ file: 'answer.md' }],
    checks: {
      'the answer gives the reason': fileMatches('answer.md', text => /boiler/i.test(text.split('>')[0]!)),
      'the answer quotes the document word for word': fileMatches('answer.md', text =>
        text.includes('> The ferry of the east was stopped, since its boiler had failed the inspection twice.'),
      ),
      'the last line names the document': fileMatches('answer.md', text =>
        text.trim().split('\n').at(-1)!.includes(documentOf(186)),
      ),
    },
    solution: () => [
      grep('ferry of the east'),
      write(
        'answer.md',
        `Its boiler had failed the inspection twice.\n\n> The ferry of the east was stopped, since its boiler had failed the inspection twice.\n\n${documentOf(186)}\n`,
      ),
      run('cat answer.md'),
    ],
  },
]
