import { capitalise, FORMS, type Form, fill, POEM, REVIEW, slug, tradeOf } from './lore.ts'
import { answeringGoal } from './mail.ts'
import { itemsUnder, lineOf, oneLine, pathIn, type Scene } from './scene.ts'
import { incomeGoal } from './world.ts'

/** Above this share of common words two goals count as the same. */
const TOO_ALIKE = 0.75
const MAX_CHARS = 500

/**
 * Chooses a goal: a request of the operator or another agent, else one that earns money, or a topic of its trade not
 * used recently.
 */
export function chooseGoal(scene: Scene): { goal: string; reasoning: string } {
  const recent = itemsUnder(scene.prompt, /recent goals/i).map(item => item.replace(/^\[[^\]]*\]\s*| → .*$/g, ''))
  // A message that expects an answer is answered instead.
  const nudge = itemsUnder(scene.prompt, /(?<!earlier )messages? from the (operator|user)|user messages/i).findLast(
    item => !item.startsWith('Message msg-'),
  )
  const files = offers(scene, 'file_write')
  if (nudge) {
    const goal = answerTo(nudge, files)
    if (isNew(goal, recent)) return { goal, reasoning: 'The operator asked, and that comes first.' }
  }
  for (const wish of [answeringGoal(scene), incomeGoal(scene)]) if (wish && isNew(wish.goal, recent)) return wish
  const trade = tradeOf(scene.role)
  const forms = formsFor(scene)
  const count = forms.length * trade.topics.length
  const first = Math.floor(scene.draw('goal') * count)
  const goals = Array.from({ length: count }, (_, n) => {
    const at = (first + n) % count
    const topic = trade.topics[at % trade.topics.length]!
    return { topic, goal: goalOf(forms[Math.floor(at / trade.topics.length)]!, topic, files) }
  })
  const chosen = goals.find(({ goal }) => isNew(goal, recent)) ?? another(goals[0]!, scene.cycle_num)
  const purpose = lineOf(scene.prompt, 'Purpose')
  const because = purpose ? `It serves my purpose: ${oneLine(purpose).slice(0, 200)}` : 'It fits my role'
  return {
    goal: chosen.goal,
    reasoning: `${because}; ${chosen.topic} was not a recent topic. (Chosen by rules, not by an AI model.)`,
  }
}

function formsFor(scene: Scene): readonly Form[] {
  if (/review|critic/i.test(scene.role) && offers(scene, 'file_read')) return [REVIEW, ...FORMS]
  if (/writ|poet|philosoph/i.test(scene.role)) return [POEM, ...FORMS]
  return FORMS
}

function goalOf(form: Form, topic: string, files: boolean): string {
  return fill(files ? form.goal : form.bare, { topic, path: `${form.folder}/${slug(topic)}.md` })
}

/** Returns a numbered variant of a goal, for when all goals were used recently. */
function another({ topic, goal }: { topic: string; goal: string }, cycle_num: number) {
  return { topic, goal: `${capitalise(topic)} once more, part ${cycle_num}: ${goal}` }
}

function answerTo(nudge: string, files: boolean): string {
  const wish = oneLine(nudge).slice(0, 300)
  const path = pathIn(wish) ?? `answers/${slug(wish)}.md`
  const goal = files ? `Do what the operator asks, in ${path}: ${wish}` : `Do what the operator asks: ${wish}`
  return goal.slice(0, MAX_CHARS)
}

function isNew(goal: string, recent: readonly string[]): boolean {
  return recent.every(other => similarity(goal, other) <= TOO_ALIKE)
}

/** Returns the number of common words divided by the size of the larger set. */
function similarity(a: string, b: string): number {
  const [these, those] = [a, b].map(text => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])) as [
    Set<string>,
    Set<string>,
  ]
  const common = [...these].filter(word => those.has(word)).length
  return common / Math.max(these.size, those.size, 1)
}

/** Returns whether a tool is available, in the request or in the prompt's list. */
function offers({ tools, prompt }: Scene, tool: string): boolean {
  return tools.has(tool) || new RegExp(`\\b${tool}\\b`).test(prompt)
}
