import type { AgentRow } from '#core/agents/contract'
import type { PromptSection } from '#core/goals/contract'
import type { IdentityRecord } from './contract.ts'
import { oneLine } from './narrative.ts'

/** Maximum amounts shown in a prompt, about 350 tokens in total. `narrative` and `worldview` are in characters. */
const SHOWN = { chapters: 2, narrative: 400, worldview: 200, opinions: 3, questions: 2 }
const LONGEST = { chapter: 150, opinion: 100, question: 100 }

/**
 * Returns the agent's identity as prompt text in a fence. Each entry is one line after a dash, so that none can close
 * the fence. undefined for a new agent.
 * @param memories lines of the same prompt; goals that they name are left out
 */
export function identityText(identity: IdentityRecord, memories: readonly string[] = []): string | undefined {
  const { chapters, narrative, worldview, opinions, open_questions } = identity
  const entries = [
    ...chapters.slice(-SHOWN.chapters).map(({ summary }) => oneLine(summary, LONGEST.chapter)),
    ...lastLines(narrative, SHOWN.narrative)
      .filter(line => !isRemembered(line, memories))
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
const KNOWN_CHARS = 150

/** Returns whether a memory begins with the same words as a dated line of the narrative. */
function isRemembered(line: string, memories: readonly string[]): boolean {
  const wordsOf = (text: string) =>
    text
      .replace(/…$/, '')
      .replaceAll(/ (?:-|→) /g, ' ')
      .slice(0, KNOWN_CHARS)
  const words = wordsOf(line.replace(/^\d{4}-\d\d-\d\d: /, ''))
  return memories.some(memory => wordsOf(memory).startsWith(words))
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
    text: async (agent, _profile, { identity, memory_snippets }) =>
      identityText(identity ?? (await of(agent)), memory_snippets),
  }
}
