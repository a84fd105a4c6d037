import type { Profile } from '#core/profiles/contract'
import { PROFILE_TOOLKITS, Runtime, type ToolSet } from '#core/runtime/contract'
import type { PluginHandle } from '#kernel'
import { Guardrails } from '#safety/guardrails/contract'
import { type Tool, Toolkits } from '#tools/toolkits/contract'

/** The toolkit that belongs to the economy. */
const WORLD = 'world'
/** The toolkit by which agents write to each other. */
const COMMS = 'comms'
/** Text that replaces a message blocked by a guardrail. */
const BLOCKED = '[A message was withheld by a guardrail.]'

/** Returns the tools of a one-shot task: of these toolkits, those that the profile allows. */
export function taskTools(svc: PluginHandle, names: readonly string[], profile: Profile): ToolSet {
  const economy = svc.config.get('economy.enabled') === true
  const set = svc
    .use(Runtime)
    .toolsFor(
      profile,
      names.includes(PROFILE_TOOLKITS) ? PROFILE_TOOLKITS : names.filter(name => name !== WORLD || economy),
    )
  if (!svc.has(Guardrails) || !svc.use(Guardrails).enabled) return set
  const guarded = new Set(svc.find(Toolkits, COMMS)?.tools.map(({ name }) => name))
  return {
    ...set,
    find(name) {
      const tool = set.find(name)
      return tool && guarded.has(name) ? withCheckedResult(svc, tool) : tool
    },
  }
}

/** Wraps a tool so that guardrails check text from other agents before the model reads it. */
function withCheckedResult(svc: PluginHandle, tool: Tool): Tool {
  return {
    ...tool,
    async execute(args: never, call) {
      const result: unknown = await tool.execute(args, call)
      const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? '')
      const { action, text: clean } = await svc.use(Guardrails).check('peer', text, { agent_id: call.agent_id })
      if (action === 'block') return BLOCKED
      return action === 'redact' ? clean : result
    },
  }
}
