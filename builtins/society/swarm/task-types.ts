import { REVIEW, type TaskType } from './contract.ts'

/** Type of goals that match no other type. */
const GENERAL = 'general'
/** Minimum score for a type. */
const THRESHOLD = 1

/** Built-in kinds of work. Weights are set by hand: 2 for words that name the work, 1 for words that accompany it. */
// biome-ignore format: a table of short entries
export const TASK_TYPES: readonly TaskType[] = [
  {
    name: 'coding',
    words: {
      code: 2, coding: 2, bug: 2, refactor: 2, debug: 2, compil: 2, implement: 1.5, script: 1.5, program: 1.5,
      function: 1.5, parser: 1.5, test: 1.5, module: 1, class: 1, fix: 1, api: 1,
    },
    tools: {
      run_code_task: 2,
      git_commit: 1.5,
      git_diff: 1,
      git_add: 1,
      shell_exec: 1,
      shell_script: 1,
      file_edit: 0.5,
    },
  },
  {
    name: 'research',
    words: {
      research: 2, investigat: 2, survey: 1.5, search: 1.5, explor: 1, source: 1, learn: 1, compar: 1, discover: 1,
      find: 0.5, look: 0.5,
    },
    tools: { web_search: 1.5, web_fetch: 1.5, scrape_link: 1.5, search_links: 0.5, search_notes: 0.5 },
  },
  {
    name: 'writing',
    words: {
      draft: 2, essay: 2, story: 2, poem: 2, article: 2, summar: 1.5, report: 1.5, document: 1.5, readme: 1.5,
      letter: 1.5, chapter: 1.5, write: 1, text: 1, note: 0.5,
    },
    tools: { file_write: 0.5, write_notepad: 0.5, save_note: 0.5 },
  },
  {
    name: 'analysis',
    words: {
      analy: 2, calculat: 2, statisti: 2, count: 1.5, measur: 1.5, evaluat: 1.5, estimat: 1.5, data: 1.5,
      number: 1, check: 0.5,
    },
    tools: { file_read: 0.5, git_log: 0.5, list_dir: 0.25 },
  },
  {
    name: REVIEW,
    words: { review: 2.5, critiq: 2, proofread: 2, audit: 2, feedback: 1.5, finding: 1, approv: 1 },
    tools: {},
  },
  {
    name: 'communication',
    words: {
      message: 2, negotiat: 2, reply: 1.5, answer: 1.5, discuss: 1.5, greet: 1.5, ask: 1, tell: 1, talk: 1,
    },
    tools: { send_message: 1, send_request: 1, send_query: 1, send_review_request: 1, reply: 1.5, start_pattern: 1 },
  },
  {
    name: 'planning',
    words: {
      plan: 2, schedul: 2, prioriti: 2, roadmap: 2, organi: 1.5, coordinat: 1.5, delegat: 1.5, decid: 1, decision: 1,
    },
    tools: { add_subgoals: 1, delegate_task: 1, schedule_goal: 1, create_task: 1, spawn_sub_agent: 1, set_alarm: 0.5 },
  },
  {
    name: 'operations',
    words: {
      deploy: 2, install: 2, backup: 2, monitor: 1.5, configur: 1.5, restart: 1.5, disk: 1.5, clean: 1, tidy: 1,
      server: 1, log: 0.5,
    },
    tools: { shell_exec: 0.5, shell_script: 0.5, git_status: 0.25 },
  },
  {
    name: 'economy',
    words: {
      money: 2, salary: 2, gambl: 2, invest: 2, earn: 1.5, job: 1.5, market: 1.5, sell: 1.5, buy: 1.5, pay: 1,
    },
    tools: {},
  },
]

/**
 * Returns the kind of work of a goal: the type with the highest sum of weights, over word prefixes of the objective and
 * called tools, each counted once, but twice for the first word, which usually names the work. Ties go to the type listed first; `general` when no sum reaches 1.
 */
export function classify(types: readonly TaskType[], objective: string, tools: readonly string[]): string {
  const [first = '', ...rest] = objective.toLowerCase().match(/\p{L}+/gu) ?? []
  const words = new Set([first, ...rest])
  const called = new Set(tools)
  let best = { name: GENERAL, score: 0 }
  for (const type of types) {
    const matches = Object.entries(type.words).filter(([stem]) => [...words].some(word => word.startsWith(stem)))
    const done = Object.entries(type.tools).filter(([tool]) => called.has(tool))
    const begun = matches.filter(([stem]) => first.startsWith(stem))
    const score = [...matches, ...begun, ...done].reduce((sum, [, weight]) => sum + weight, 0)
    if (score >= THRESHOLD && score > best.score) best = { name: type.name, score }
  }
  return best.name
}
