import { join } from 'node:path'
import { errorMessage, type PluginHandle, z } from '#kernel'
import { succeeds } from '#lib/succeeds'
import { Questions } from '#safety/questions/contract'
import { ToolError } from '#tools/toolkits/contract'
import { parseSkill } from './parse.ts'

const DRAFTS_FOLDER = 'skill-drafts'
const PROPOSAL_FILE = 'asked.json'
const YES = 'Use it'
const NO = 'Do not use it'
/** Maximum number of characters of a draft shown in the question. */
const MAX_SHOWN_CHARS = 1_200
/** Maximum number of characters of the operator's reason that the agent reads. */
const MAX_REASON_CHARS = 3_000

const Proposal = z.object({ call_id: z.string(), agent_id: z.string(), goal_id: z.string(), name: z.string() })

interface Draft {
  name: string
  description: string
  body: string
}

/**
 * Stores a draft of a skill and asks the operator whether to use it.
 * @throws ToolError, BadFileError
 */
export async function propose(
  svc: PluginHandle,
  call: { call_id: string; agent_id: string; goal_id: string | null },
  { name, description, body }: Draft,
): Promise<string> {
  const { call_id, agent_id, goal_id } = call
  if (goal_id === null || !svc.has(Questions))
    throw new ToolError({ problem: 'No operator can be asked here; put the draft into your answer.' })
  const text = `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n\n${body.trim()}\n`
  parseSkill('The draft', text, name)
  const { files } = svc.ports
  const folder = join(svc.project.svc, DRAFTS_FOLDER, svc.ports.ids.make(name, 8))
  await files.mkdir(folder, { recursive: true, mode: 0o700 })
  await files.writeFile(join(folder, 'SKILL.md'), text)
  const exists = await succeeds(files.access(join(svc.project.root, 'skills', name, 'SKILL.md')))
  const shown =
    body.length > MAX_SHOWN_CHARS
      ? `${body.slice(0, MAX_SHOWN_CHARS)}\n[…] Full text: ${join(folder, 'SKILL.md')}`
      : body
  const subject = { call_id, agent_id, goal_id }
  const question = `May I ${exists ? 'change' : 'add'} the skill "${name}"? ${description}\nAny other answer declines the skill, and the agent reads that answer as your reason.\n\n${shown}`
  const { question_id } = await svc.use(Questions).ask({ ...subject, question, options: [YES, NO] })
  await files.writeFile(join(folder, PROPOSAL_FILE), JSON.stringify({ ...subject, name }))
  return `The operator was asked (${question_id}). The skill is used once the operator agrees; until then your goal waits.`
}

/** Moves approved drafts to the project's `skills/` and removes declined ones. */
export async function settleProposals(svc: PluginHandle): Promise<void> {
  const { ownFiles: files } = svc.ports
  const drafts = join(svc.project.svc, DRAFTS_FOLDER)
  for (const entry of await files.readdir(drafts).catch(() => [])) {
    const draft = join(drafts, entry)
    const proposal = await readProposal(svc, join(draft, PROPOSAL_FILE))
    if (!proposal) continue
    const { name, ...question } = proposal
    // The question was asked under the same `call_id`, so this returns it with its state.
    const { status, answer } = await svc.use(Questions).ask({ ...question, question: '', options: [] })
    if (status === 'open') continue
    try {
      if (status === 'answered' && answer !== YES)
        await reportDeclined(svc, proposal, join(draft, PROPOSAL_FILE), answer)
      if (status === 'answered' && answer === YES) {
        const folder = join(svc.project.root, 'skills', name)
        await files.mkdir(folder, { recursive: true })
        await files.rename(join(draft, 'SKILL.md'), join(folder, 'SKILL.md'))
        svc.log.info({ agent_id: proposal.agent_id, skill: name }, `the skill "${name}" is in use: the operator agreed`)
      }
      await files.rm(draft, { recursive: true, force: true })
    } catch (error) {
      svc.log.warn({ skill: name }, `cannot move the skill "${name}" to skills/: ${errorMessage(error)}`)
    }
  }
}

/** Notifies the agent once that its skill was declined: only the process that succeeds in removing `file` does it. */
async function reportDeclined(
  svc: PluginHandle,
  { agent_id, name }: z.infer<typeof Proposal>,
  file: string,
  answer: string | null,
): Promise<void> {
  const isFirst = await succeeds(svc.ports.files.unlink(file))
  if (!isFirst) return
  const reason = answer === NO || answer === null ? '' : ` The reason: ${answer.slice(0, MAX_REASON_CHARS)}`
  const message = `The skill "${name}" that you proposed was declined; it is not in use.${reason}`
  await svc
    .invoke('agents.nudge', { id: agent_id, message })
    .catch(error =>
      svc.log.warn({ agent_id }, `cannot notify the agent that its skill was declined: ${errorMessage(error)}`),
    )
}

async function readProposal(svc: PluginHandle, file: string) {
  const text = await svc.ports.files.readFile(file, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Proposal.safeParse(JSON.parse(text)).data
}
