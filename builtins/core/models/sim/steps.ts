import { argumentsFor } from './arguments.ts'
import { slug } from './lore.ts'
import { answer } from './mail.ts'
import { afterthoughtFor, footerOf, pageFor, pathOf } from './page.ts'
import { type Act, isQuestionOfEnd, pathIn, quote, type Scene } from './scene.ts'
import { act, callsOf, end, pageIn, REMARK_FOLDER, REMARK_NOTE, type Step, withoutReplies } from './step.ts'
import { live } from './world.ts'

type Rule = (scene: Scene) => Step | undefined

/**
 * The rules in order; the first one that returns a step decides. Each acts a limited number of times, so that every run
 * ends.
 */
const RULES: readonly Rule[] = [
  endWhenAsked,
  answer,
  answerRemark,
  live,
  useNamedTool,
  lookAround,
  readBeforeReview,
  writeDown,
  readBack,
  refine,
  keepNote,
]

/** Returns the next step of a goal or a task. */
export function nextStep(scene: Scene): Step {
  for (const rule of RULES) {
    const step = rule(scene)
    if (step) return step
  }
  return end(scene)
}

/** Tools that have a rule of their own. */
const KNOWN = /^(list_dir|file_\w+|\w*_notepad|finish_goal)$/
const MAX_TRIES = 2
/** Probability that a page gets another line, and a note about it. */
const REFINED = 0.4
const NOTE_SHARE = 0.5

function endWhenAsked(scene: Scene): Step | undefined {
  return scene.unread.some(isQuestionOfEnd) ? end(scene) : undefined
}

function answerRemark({ unread, tools, objective }: Scene): Step | undefined {
  const remark = unread.at(-1)
  if (!remark) return undefined
  const say = `I have read ${quote(remark)} and take it into account.`
  if (tools.has('write_notepad')) return act(say, 'write_notepad', { text: REMARK_NOTE + remark })
  if (!tools.has('file_write')) return undefined
  const content = `# A remark of the operator\n\n> ${remark}\n\nTaken into account while working on: ${objective}\n`
  return act(say, 'file_write', { path: `${REMARK_FOLDER}${slug(remark)}.md`, content })
}

function useNamedTool({ tools, acts, objective, remarks }: Scene): Step | undefined {
  const instructions = [objective, ...remarks].join('\n')
  const isNamed = (name: string) => !KNOWN.test(name) && new RegExp(`\\b${name}\\b`).test(instructions)
  const named = [...tools.values()].find(({ name }) => isNamed(name) && !callsOf(acts, name).length)
  return named && act(`I use ${named.name}.`, named.name, argumentsFor(named, instructions))
}

function lookAround({ tools, acts, kind, objective }: Scene): Step | undefined {
  if (!tools.has('list_dir') || callsOf(acts, 'list_dir').length > 0) return undefined
  if (kind === 'task' && !mentionsFiles(objective)) return undefined
  return act('First I look at what is in the workspace.', 'list_dir', { path: '.' })
}

function readBeforeReview({ tools, acts, objective }: Scene): Step | undefined {
  const review = /\breview/i.test(objective)
  if (!review && !/\bread\b/i.test(objective)) return undefined
  if (!tools.has('file_read') || callsOf(acts, 'file_read').length > 0) return undefined
  const listed = callsOf(acts, 'list_dir').map(({ result }) => result)
  const path = (review ? undefined : pathIn(objective)) ?? pathIn(listed.join('\n'))
  return path ? act(`I read ${path}.`, 'file_read', { path }) : undefined
}

function writeDown(scene: Scene): Step | undefined {
  const { tools, acts, objective, kind } = scene
  if (kind === 'task' && !mentionsFiles(objective)) return undefined
  const tries = withoutReplies(callsOf(acts, 'file_write'))
  if (tries.some(({ failed }) => !failed)) return undefined
  const failure = tries.at(-1)
  if (failure && isUnread(failure) && tools.has('file_read')) {
    const path = String(failure.args.path)
    const isRead = callsOf(acts, 'file_read').some(({ args }) => args.path === path)
    if (!isRead) return act(`${path} is there already, so I read it first.`, 'file_read', { path })
  }
  if (tools.has('file_write') && tries.length < MAX_TRIES) {
    const path = failure && !isUnread(failure) ? `${slug(objective)}.md` : pathOf(objective)
    const say = failure ? `That failed (${quote(failure.result)}), so I try ${path}.` : `Now I write ${path}.`
    return act(say, 'file_write', { path, content: pageFor(scene) })
  }
  if (!tools.has('write_notepad') || withoutReplies(callsOf(acts, 'write_notepad')).length > 0) return undefined
  const say = failure ? 'I cannot write files now, so I try my notepad.' : 'I write it into my notepad.'
  return act(say, 'write_notepad', { text: pageFor(scene) })
}

/** Returns whether a write failed because the file has to be read first. */
function isUnread({ failed, result }: Act): boolean {
  return failed && /\bwith file_read\b/.test(result)
}

function readBack({ tools, acts }: Scene): Step | undefined {
  const path = pageIn(acts)
  if (!path || !tools.has('file_read') || callsOf(acts, 'file_read').some(({ args }) => args.path === path))
    return undefined
  return act(`I read ${path} to see whether it is right.`, 'file_read', { path })
}

function refine(scene: Scene): Step | undefined {
  const { tools, acts, kind, draw } = scene
  const path = pageIn(acts)
  if (!path || !tools.has('file_edit') || callsOf(acts, 'file_edit').length > 0) return undefined
  if (kind === 'task' || draw('refine') >= REFINED) return undefined
  const footer = footerOf(scene)
  const new_text = `${afterthoughtFor(scene)}\n\n${footer}`
  return act('I add one more line.', 'file_edit', { path, old_text: footer, new_text })
}

function keepNote(scene: Scene): Step | undefined {
  const { tools, acts, kind, cycle_num, draw } = scene
  const path = pageIn(acts)
  if (!path || !tools.has('write_notepad') || callsOf(acts, 'write_notepad').length > 0) return undefined
  if (kind === 'task' || draw('note') >= NOTE_SHARE) return undefined
  const thought = afterthoughtFor(scene).replace(/^\w+: /, '')
  return act('I note down what is done.', 'write_notepad', {
    text: `Finished ${path} in cycle ${cycle_num}. ${thought}`,
  })
}

function mentionsFiles(objective: string): boolean {
  return pathIn(objective) !== undefined || /\b(file|folder|workspace|write|save|draft|note down)\b/i.test(objective)
}
