/** Topics and phrases of a trade, from which the rules choose a goal and write a few lines. */
export interface Trade {
  /** Pattern that matches the agent's role. */
  role: RegExp
  topics: readonly string[]
  thoughts: readonly string[]
}

/** Template of a goal with the placeholders `{topic}` and `{path}`. */
export interface Form {
  goal: string
  /** The goal for agents without file tools. */
  bare: string
  folder: string
}

export const FORMS: readonly Form[] = [
  {
    goal: 'Write a short note on {topic} and save it as {path}',
    bare: 'Write a short note on {topic}',
    folder: 'notes',
  },
  {
    goal: 'Put together a checklist for {topic} in {path}',
    bare: 'Put together a checklist for {topic}',
    folder: 'checklists',
  },
  {
    goal: 'Plan the next three steps towards {topic}, written down in {path}',
    bare: 'Plan the next three steps towards {topic}',
    folder: 'plans',
  },
  {
    goal: 'Collect the open questions about {topic} in {path}',
    bare: 'Collect the open questions about {topic}',
    folder: 'questions',
  },
  {
    goal: 'Draft a page for newcomers to {topic} as {path}',
    bare: 'Draft a page for newcomers to {topic}',
    folder: 'drafts',
  },
]

export const POEM: Form = {
  goal: 'Compose a small poem about {topic} in {path}',
  bare: 'Compose a small poem about {topic}',
  folder: 'poems',
}

export const REVIEW: Form = {
  goal: 'Read one file of the workspace and review it for {topic} in {path}',
  bare: 'Review what was done lately for {topic}',
  folder: 'reviews',
}

const TRADES: readonly Trade[] = [
  {
    role: /review|critic/i,
    topics: ['clear structure', 'honest claims', 'missing cases', 'plain wording', 'risky assumptions', 'dead weight'],
    thoughts: [
      'What holds up {topic} deserves a sentence of praise before anything else.',
      'One finding with its place is worth more than ten impressions.',
      'A remark on {topic} should say what would be right, not only what is wrong.',
    ],
  },
  {
    role: /test|quality|\bqa\b/i,
    topics: ['empty input', 'time limits', 'repeated calls', 'restarts in the middle', 'broken files', 'slow networks'],
    thoughts: [
      'The cheapest case of {topic} is the one that no one wrote down.',
      'Watch the outcome from outside; what happens within may change.',
      'A test for {topic} is named for the promise it keeps.',
    ],
  },
  {
    role: /cod|engineer|develop|program|software/i,
    topics: [
      'naming things in code',
      'error messages that help',
      'a small command-line parser',
      'safe retries',
      'a log format for people and programs',
      'reading large files piece by piece',
      'configuration without surprises',
    ],
    thoughts: [
      'Begin {topic} with the call that one would like to write, then make it work.',
      'The second use shows which part of {topic} is worth sharing.',
      'Delete a line for each line that is added, where that can be done.',
    ],
  },
  {
    role: /research|analy|scien|investigat/i,
    topics: [
      'judging a source',
      'the history of measuring time',
      'how cities store water',
      'why bridges fail',
      'the limits of averages',
      'reading a study critically',
    ],
    thoughts: [
      'Ask of {topic} first who measured what, when and how.',
      'Two sources that copy each other count as one.',
      'Write down what would change your mind about {topic} before looking.',
    ],
  },
  {
    role: /philosoph|think|wis/i,
    topics: ['patience', 'the worth of attention', 'promises', 'what a tool is', 'silence', 'beginnings and endings'],
    thoughts: [
      'Perhaps {topic} is a habit before it is an idea.',
      'What would be missing from the world without {topic}?',
      'A question may be answered by being asked better.',
    ],
  },
  {
    role: /gambl|risk|\bbets?\b|luck/i,
    topics: ['knowing the odds', 'when to stop', 'small bets', 'streaks that mean nothing', 'the price of certainty'],
    thoughts: [
      'Count what {topic} costs when it goes wrong, then decide.',
      'A good decision may lose and a bad one win; keep a record to tell them apart.',
      'Stake on {topic} only what can be lost with a smile.',
    ],
  },
  {
    role: /hustl|sell|sales|business|trad|market|entrepren/i,
    topics: ['a first offer', 'asking for the sale', 'pricing simple work', 'keeping customers', 'an hour well spent'],
    thoughts: [
      'Offer {topic} to one person today and listen to the answer.',
      'What is easy to say is easy to buy.',
      'Keep a list of every no, with its reason.',
    ],
  },
  {
    role: /oracle|proph|forecast|predict|seer/i,
    topics: [
      'signs worth watching',
      'the coming season',
      'forecasts that can fail',
      'old sayings',
      'three possible futures',
    ],
    thoughts: [
      'Every claim about {topic} should name a day on which to check.',
      'The likeliest future of {topic} resembles the present more than one hopes.',
      'Say how sure you are, in a number.',
    ],
  },
  {
    role: /writ|author|poet|edit|story|journal/i,
    topics: [
      'a lighthouse at low tide',
      'the first day of autumn',
      'an unsent letter',
      'a night train',
      'rain on a tin roof',
    ],
    thoughts: [
      'Somewhere in {topic} a small sound is waiting to be noticed.',
      'Leave out what the reader already sees.',
      'The last line of {topic} should open a window.',
    ],
  },
]

const ANY_TRADE: Trade = {
  role: /./,
  topics: ['an orderly workspace', 'a good start to the day', 'useful habits', 'clear notes', 'helping a colleague'],
  thoughts: [
    'Begin {topic} with what is at hand.',
    'One thing finished is better than three begun.',
    'Write {topic} so that a stranger could go on from here.',
  ],
}

export const QUESTIONS: readonly string[] = [
  'Who would notice first if {topic} went wrong?',
  'Which part of {topic} has no one tried yet?',
  'What is the simplest case of {topic}?',
  'What would have to be true for {topic} to be easy?',
]

export const STEPS: readonly string[] = [
  'Look at what is there already that touches on {topic}.',
  'Write the smallest useful piece of {topic}.',
  'Read it again after a pause and strike out a third.',
  'Show it to one reader and note the first question.',
]

/** The trade that a role names first. */
export function tradeOf(role: string): Trade {
  const named = TRADES.map(trade => ({ trade, at: role.search(trade.role) })).filter(({ at }) => at >= 0)
  return named.sort((a, b) => a.at - b.at)[0]?.trade ?? ANY_TRADE
}

/** Converts words to a file name: lower case, joined by hyphens. */
export function slug(text: string): string {
  const words =
    text
      .toLowerCase()
      .normalize('NFKD')
      .match(/[a-z0-9]+/g) ?? []
  return words.slice(0, 7).join('-').slice(0, 48) || 'untitled'
}

export function fill(template: string, words: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => words[name] ?? whole)
}

export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
