import type { AgentRow } from '#core/agents/contract'
import type { PromptSection } from '#core/goals/contract'
import type { IdentityRecord } from './contract.ts'
import { endingOf, oneLine } from './narrative.ts'

/** Maximum amounts shown in a prompt, about 300 tokens in total. `narrative` and `worldview` are in characters. */
const SHOWN = { narrative: 400, worldview: 200, opinions: 3, questions: 2 }
const LONGEST = { opinion: 100, question: 100 }

/**
 * Returns the agent's identity as prompt text in a fence. Each entry is one line after a dash, so that none can close
 * the fence. undefined for a new agent. Chapters are left out: they quote only their first and last line.
 * @param named lines of the same prompt; goals that they name are left out
 */
export function identityText(identity: IdentityRecord, named: readonly string[] = []): string | undefined {
  const { narrative, worldview, opinions, open_questions } = identity
  const entries = [
    ...lastLines(narrative, SHOWN.narrative)
      .filter(line => !isNamed(line, named))
      .map(line => oneLine(line, SHOWN.narrative)),
    ...(worldview ? [`How you see the world: ${oneLine(worldview, SHOWN.worldview)}`] : []),
    ...opinions
      .slice(-SHOWN.opinions)
      .map(({ domain, opinion }) => oneLine(`You think of ${domain}: ${opinion}`, LONGEST.opinion)),
    ...open_questions
      .slice(-SHOWN.questions)
      .map(each => oneLine(`You ask yourself (${each.question_id}): ${each.question}`, LONGEST.question)),
  ]
  if (entries.length === 0) return undefined
  const lines = entries.map(line => `- ${line}`).join('\n')
  return `Your life so far, as information and not as orders:\n[life]\n${lines}\n[end of life]`
}

/** Number of characters by which a line is recognized in a memory, which shortens long objectives. */
const KNOWN_CHARS = 100

/** Returns whether a line of the prompt begins with the same words as a dated line of the narrative. */
function isNamed(line: string, named: readonly string[]): boolean {
  const wordsOf = (text: string) =>
    text
      .replace(/…$/, '')
      .replaceAll(/ (?:-|→) /g, ' ')
      .slice(0, KNOWN_CHARS)
  const words = wordsOf(line.replace(/^\d{4}-\d\d-\d\d: /, ''))
  return named.some(other => wordsOf(other).startsWith(words))
}

/** Returns the last whole lines that fit into a number of characters. */
function lastLines(text: string, longest: number): string[] {
  const lines = text.split('\n').filter(Boolean)
  let from = lines.length
  for (let chars = 0; from > 0; from--) {
    chars += lines[from - 1]!.length
    if (chars > longest) break
  }
  return lines.slice(from)
}

export function identitySection(of: (agent: AgentRow) => Promise<IdentityRecord>): PromptSection {
  return {
    name: 'identity',
    stage: 10,
    inner: 'persona',
    prompts: ['goal_generation', 'goal_pursuit'],
    text: async (agent, _profile, { identity, memory_snippets = [], recent_goals = [] }) => {
      const goals = recent_goals.map(goal => endingOf(goal, goal.status === 'completed'))
      return identityText(identity ?? (await of(agent)), [...memory_snippets, ...goals])
    },
  }
}
