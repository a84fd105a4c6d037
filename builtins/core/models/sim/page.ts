import { capitalise, fill, QUESTIONS, STEPS, slug, tradeOf } from './lore.ts'
import { pathIn, quote, type Scene } from './scene.ts'

/** Kinds of pages by words of the goal, each with its lines and the marker before each line. */
const KINDS = [
  { words: /question/i, lines: QUESTIONS, mark: (n: number) => `${n}. ` },
  { words: /checklist/i, lines: STEPS, mark: () => '- [ ] ' },
  { words: /plan|steps/i, lines: STEPS, mark: (n: number) => `${n}. ` },
  { words: /poem/i, lines: undefined, mark: () => '' },
  { words: /./, lines: undefined, mark: () => '- ' },
]

/**
 * Writes a short page for the goal: heading, the goal, a few matching lines, and the author. A task may supply its own
 * text.
 */
export function pageFor(scene: Scene): string {
  const { objective, acts, kind } = scene
  const given = /[“"`]([^”"`]{3,2000})[”"`]/.exec(objective)?.[1]
  if (kind === 'task' && given) return `${given}\n`
  const { mark } = KINDS.find(({ words }) => words.test(objective))!
  const read = acts.find(act => act.tool === 'file_read' && !act.failed)
  const source = read ? [`Read: ${String(read.args.path)}, which says ${quote(read.result)}`, ''] : []
  const lines = linesFor(scene, 3).map((line, at) => mark(at + 1) + line)
  const heading = `# ${capitalise(topicOf(objective))}`
  return [heading, '', `Goal: ${objective}`, '', ...source, ...lines, '', footerOf(scene), ''].join('\n')
}

export function footerOf({ who }: Scene): string {
  return `Written by ${who}. Simulated, not an AI model: these lines were chosen by rules.`
}

/** Returns lines about the goal's topic, for its kind of page or from the agent's trade. */
function linesFor(scene: Scene, count: number): string[] {
  const { objective, role } = scene
  const pool = KINDS.find(({ words }) => words.test(objective))?.lines ?? tradeOf(role).thoughts
  const first = Math.floor(scene.draw('page') * pool.length)
  const topic = topicOf(objective)
  return Array.from({ length: count }, (_, n) => fill(pool[(first + n) % pool.length]!, { topic }))
}

/** Returns one more line, of another kind than the existing ones. */
export function afterthoughtFor(scene: Scene): string {
  const pool = /question/i.test(scene.objective) ? tradeOf(scene.role).thoughts : QUESTIONS
  const line = pool[Math.floor(scene.draw('afterthought') * pool.length)]!
  return `Afterthought: ${fill(line, { topic: topicOf(scene.objective) })}`
}

/** Returns the path for the goal's result: the file that the goal names, otherwise one named after the goal. */
export function pathOf(objective: string): string {
  return pathIn(objective) ?? `notes/${slug(objective)}.md`
}

function topicOf(objective: string): string {
  const stem = pathOf(objective).split('/').at(-1)!
  return stem.replace(/\.\w+$/, '').replaceAll(/[-_]/g, ' ')
}
