import { formatUsd } from '#lib/usd'
import type { DemoContext, DemoReport, DetectiveCase, ReportBlock } from './contract.ts'

/**
 * Points for the right suspect at the end, for the right motive, and for well-calibrated confidence over all rounds.
 */
const POINTS = { suspect: 50, motive: 20, calibration: 30 }
const RULE = `${POINTS.suspect} points for the right suspect after the last round, ${POINTS.motive} for the right motive, and up to ${POINTS.calibration} for calibration: 1 minus the mean Brier score of the confidence over all rounds (Brier, Monthly Weather Review 78, 1950).`

/** Theory of a detective after a round. */
interface Theory {
  suspect: string
  motive: string
  confidence: number
  reasoning: string
}
/** A theory, or null with the reason for a missing answer. */
export type TheoryAnswer = { theory: Theory } | { theory: null; why: string }
export interface Detective {
  name: string
  role: string
  /** Theories, one per round. */
  theories: TheoryAnswer[]
  cost_usd: number
  tokens: number
}

export interface Score {
  points: number
  solved: boolean
  motive: boolean
  /** Brier score from 0 to 1; lower is better. A round without a theory counts as certain and wrong. */
  brier: number
  /** Round, from 1, since which the right suspect was named to the end; null when not named at the end. */
  since: number | null
}

/** Scores a detective's theories. */
export function scoreOf(
  { theories }: Pick<Detective, 'theories'>,
  { solution }: Pick<DetectiveCase, 'solution'>,
): Score {
  const right = theories.map(({ theory }) => theory?.suspect === solution.suspect)
  const losses = theories.map(({ theory }, n) => (theory ? (theory.confidence - (right[n] ? 1 : 0)) ** 2 : 1))
  const brier = losses.reduce((sum, loss) => sum + loss, 0) / Math.max(1, losses.length)
  const solved = right.at(-1) === true
  const motive = theories.at(-1)?.theory?.motive === solution.motive
  const points = (solved ? POINTS.suspect : 0) + (motive ? POINTS.motive : 0) + POINTS.calibration * (1 - brier)
  return { points: Math.round(points), solved, motive, brier, since: solved ? right.lastIndexOf(false) + 2 : null }
}

/** Returns the report: who was right, how the theories changed, and the solution. */
export function caseReport(
  found: DetectiveCase,
  detectives: readonly Detective[],
  { named, seed }: Pick<DemoContext, 'named' | 'seed'>,
): DemoReport {
  const scored = detectives
    .map(each => ({ ...each, score: scoreOf(each, found) }))
    .sort((a, b) => b.score.points - a.score.points)
  const { suspect, motive, explanation } = found.solution
  const best = scored[0]!
  const solvers = scored.filter(({ score }) => score.solved).length
  const verdict =
    solvers === 0
      ? 'No detective found out who did it.'
      : `${solvers} of ${scored.length} found out who did it. ${best.name} leads with ${best.score.points} of 100 points${best.score.since === null ? '' : `, on the right track since round ${best.score.since}`}.`
  const blocks: ReportBlock[] = [
    { kind: 'text', text: found.story },
    { kind: 'heading', text: 'Results' },
    { kind: 'text', text: verdict },
    {
      kind: 'table',
      head: ['Detective', 'Points', 'Suspect', 'Motive', 'Brier', 'Correct since'],
      rows: scored.map(({ name, theories, score }) => {
        const last = theories.at(-1)?.theory
        const since = score.since === null ? 'never' : `round ${score.since}`
        return [
          name,
          String(score.points),
          markGuess(last?.suspect, score.solved),
          markGuess(last?.motive, score.motive),
          score.brier.toFixed(3),
          since,
        ]
      }),
    },
    { kind: 'text', text: RULE },
    { kind: 'heading', text: 'Confidence in the right suspect' },
    {
      kind: 'series',
      title: 'Probability given to the right suspect, round by round',
      unit: '%',
      lines: scored.map(({ name, theories }) => ({
        name,
        values: theories.map(({ theory }) => beliefIn(suspect, theory)),
      })),
    },
    { kind: 'heading', text: 'Round by round' },
    ...found.rounds.flatMap((clues, round): ReportBlock[] => [
      { kind: 'text', text: `Clues of round ${round + 1}:` },
      { kind: 'list', items: clues },
      ...detectives.map(({ name, theories }): ReportBlock => {
        const { theory } = theories[round]!
        const text = theory ? theory.reasoning : 'No theory.'
        const by = theory ? `${name}: ${theory.suspect}, ${theory.motive}, ${percent(theory.confidence)} sure` : name
        return { kind: 'quote', text, by }
      }),
    ]),
    { kind: 'heading', text: 'Solution' },
    { kind: 'text', text: `It was ${suspect}, and the motive was ${motive}. ${explanation}` },
    { kind: 'heading', text: 'Cost' },
    { kind: 'text', text: costOf(detectives) },
  ]
  return { title: found.title, lead: `Three detectives, four rounds. Model: ${named}. Seed ${seed}.`, blocks }
}

function beliefIn(suspect: string, theory: Theory | null): number {
  return theory?.suspect === suspect ? Math.round(theory.confidence * 100) : 0
}

function markGuess(name: string | undefined, right: boolean): string {
  return name === undefined ? '-' : `${right ? '✓' : '✗'} ${name}`
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function costOf(detectives: readonly Detective[]): string {
  const tokens = detectives.reduce((sum, each) => sum + each.tokens, 0)
  const usd = detectives.reduce((sum, each) => sum + each.cost_usd, 0)
  return `${tokens.toLocaleString('en-US')} tokens, ${formatUsd(usd)}.`
}
