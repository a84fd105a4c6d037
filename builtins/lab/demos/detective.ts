import type { TaskResponse } from '#core/tasks/contract'
import { type PluginHandle, z } from '#kernel'
import { type Demo, type DemoContext, type DetectiveCase, DetectiveCases } from './contract.ts'
import { caseReport, type Detective, type TheoryAnswer } from './detective-report.ts'

/** The detectives; each judges the same clues from another viewpoint. */
const DETECTIVES = [
  { name: 'Vera', role: 'Detective who goes by traces and evidence, and trusts nothing that cannot be measured' },
  { name: 'Anselm', role: 'Detective who listens to people, and asks what was in their heart' },
  { name: 'Ottilie', role: 'Detective and former bookkeeper, who follows the money' },
] as const
const DOING =
  'You work on a case with two colleagues. Weigh the evidence for and against each suspect. Proven alibis count; appearances can mislead. State your confidence as a probability that you would bet on: a confident wrong answer costs more than doubt.'

/** Demo in which three detectives solve one case; each commits to a theory after each of four rounds of clues. */
export function detective(svc: PluginHandle): Demo {
  const cases = () => svc.list(DetectiveCases)
  return {
    name: 'detective',
    summary: 'Three detectives solve one case in four rounds of clues; their theories are compared with the solution',
    parts: () => cases().map(({ name, title }) => ({ name, title })),
    async play(stage, part) {
      const found = part === undefined ? cases()[0]! : cases().find(({ name }) => name === part)!
      return caseReport(found, await investigate(stage, found), stage)
    },
  }
}

async function investigate(stage: DemoContext, found: DetectiveCase): Promise<Detective[]> {
  const { model, signal, say } = stage
  const files = DETECTIVES.map(({ name, role }) => {
    const profile = { name, role, toolkits: [], system_prompt: DOING, max_tokens: 2048, temperature: 0 }
    return [`profiles/${name.toLowerCase()}.yaml`, JSON.stringify(profile)]
  })
  const config = { model: { sim_delay: 0 }, suffering: { enabled: false }, plugins: { enabled: false } }
  const { kernel } = await stage.open({ config, files: Object.fromEntries(files) as Record<string, string> })
  const ids = new Map<string, string>()
  for (const { name } of DETECTIVES) {
    const { agent_id } = (await kernel.invoke('agents.spawn', { preset: name.toLowerCase(), model })) as {
      agent_id: string
    }
    ids.set(name, agent_id)
  }
  const detectives = DETECTIVES.map(
    ({ name, role }): Detective => ({ name, role, theories: [], cost_usd: 0, tokens: 0 }),
  )
  say(`The case: ${found.title}`)
  const response_schema = z.toJSONSchema(theoryOf(found), { io: 'input' })
  for (const [round, clues] of found.rounds.entries()) {
    say(`Round ${round + 1} of ${found.rounds.length}`)
    for (const clue of clues) say(`  Clue: ${clue}`)
    const before = detectives.map(({ name, theories }) => ({ name, last: theories.at(-1) }))
    for (const each of detectives) {
      signal.throwIfAborted()
      const instruction = question(
        found,
        round,
        before.filter(({ name }) => name !== each.name),
      )
      const input = {
        id: ids.get(each.name),
        instruction,
        session_key: `${found.name}/${each.name}`,
        max_steps: 3,
        response_schema,
      }
      const answer = (await kernel.invoke('tasks.run', input, { signal })) as TaskResponse
      signal.throwIfAborted()
      const theory = theoryOf(found).safeParse(answer.parsed)
      const why = answer.error?.detail ?? 'the answer does not match the schema'
      const theoryAnswer: TheoryAnswer = theory.success ? { theory: theory.data } : { theory: null, why }
      each.theories.push(theoryAnswer)
      each.cost_usd += answer.cost_usd
      each.tokens += answer.tokens
      say(`  ${each.name} ${describeAnswer(theoryAnswer)}`)
    }
  }
  return detectives
}

function theoryOf({ suspects, motives }: DetectiveCase) {
  return z.object({
    suspect: z.enum(suspects.map(({ name }) => name) as [string, ...string[]]).describe('The suspect who did it'),
    motive: z.enum(motives.map(({ name }) => name) as [string, ...string[]]).describe('Motive of the suspect'),
    confidence: z.number().min(0).max(1).describe('The probability that this suspect did it'),
    reasoning: z.string().max(2_000).describe('The reasons for the theory, in two or three sentences'),
  })
}

function question(
  { title, story, suspects, motives, rounds }: DetectiveCase,
  round: number,
  others: readonly { name: string; last: TheoryAnswer | undefined }[],
): string {
  const list = (heading: string, lines: readonly string[]) =>
    lines.length === 0 ? '' : `${heading}:\n${lines.map(line => `- ${line}`).join('\n')}`
  const theories = others.flatMap(({ name, last }) => (last?.theory ? [`${name} ${describeAnswer(last)}`] : []))
  return [
    `The case "${title}", round ${round + 1} of ${rounds.length}.`,
    story,
    list(
      'Suspects',
      suspects.map(({ name, about }) => `${name}. ${about}`),
    ),
    list(
      'Motives',
      motives.map(({ name, about }) => `${name}: ${about}`),
    ),
    list('Clues so far', rounds.slice(0, round + 1).flat()),
    list('What your colleagues thought after the last round (their opinion, not evidence)', theories),
    'What is your theory now?',
  ]
    .filter(Boolean)
    .join('\n\n')
}

function describeAnswer(answer: TheoryAnswer): string {
  if (!answer.theory) return `has no theory: ${answer.why}`
  const { suspect, motive, confidence, reasoning } = answer.theory
  return `suspects ${suspect} (${motive}), ${Math.round(confidence * 100)} % sure. ${reasoning}`
}
