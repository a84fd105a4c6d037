import { ModelParameters } from '#core/models/contract'
import { defineError, token, z } from '#kernel'
import { FolderInput } from '#safety/sandbox/contract'

export { constantPrompt, moodPrompt, outlineOf, personaPrompt, rolePrompt, selfPrompt } from './prompts.ts'

const unit = z.number().min(0).max(1)

/** Persona fields that change over time, each from 0 to 1. */
export const PERSONA_FIELDS = [
  'risk_tolerance',
  'social_drive',
  'concentration',
  'autonomy_level',
  'happiness',
] as const

/** Parts of an agent's inner life that prompts may contain. */
export const INNER_LIFE = ['persona', 'mood', 'economy'] as const
export type InnerLife = (typeof INNER_LIFE)[number]

/** A preset for agents: the file `profiles/<name>.yaml`. Unknown keys are ignored with a warning. */
export const Profile = z.object({
  name: z
    .string()
    .min(1)
    .max(64)
    // Names stand in terminals and prompts.
    .regex(
      /^(?!(?:.*[/\\])?\.\.(?:[/\\]|$))[^\p{Cc}\p{Zl}\p{Zp}]+$/u,
      'must not be a path such as ../x, nor contain line breaks or control characters',
    )
    .describe('Name of its agents'),
  role: z
    .string()
    .min(1)
    .max(2000)
    .describe('Role of its agents, in one sentence; it comes right after the name in every prompt'),
  model: z.string().max(200).default('').describe('Model of its agents, as provider:model; empty: model.default_model'),
  fallback: z
    .array(z.string().min(1).max(200))
    .max(8)
    .default([])
    .describe('Models to try, in this order, when that model gives no answer'),
  personality: z
    .object({
      traits: z.array(z.string()).default([]).describe('Character traits, as a few adjectives'),
      style: z.string().default('').describe('Style of speaking and writing'),
    })
    .prefault({})
    .describe('Personality: traits and style'),
  persona: z
    .object({
      values: z.array(z.string()).default([]).describe('Values of the agent'),
      fears: z.array(z.string()).default([]).describe('Fears of the agent: what it wants to prevent'),
      purpose: z.string().default('').describe('Purpose of the agent'),
      goals: z.array(z.string()).default([]).describe('Long-term goals; the key `long_term_goals` is accepted too'),
      risk_tolerance: unit.default(0.3).describe('Risk tolerance, from 0 (careful) to 1 (bold)'),
      social_drive: unit.default(0.5).describe('Social drive, from 0 (keeps to itself) to 1 (seeks others)'),
      concentration: unit.default(1).describe('Concentration, from 0 (scattered) to 1 (absorbed)'),
      autonomy_level: unit.default(0.5).describe('Autonomy, from 0 (asks first) to 1 (decides by itself)'),
      happiness: unit.default(0.7).describe('Happiness, from 0 (miserable) to 1 (content)'),
    })
    .nullable()
    .default(null)
    .describe('Motives and base levels of the agent; suffering lowers the levels'),
  own_goals: z
    .boolean()
    .default(true)
    .describe('Whether its agents choose goals of their own when idle; if false, they wait for goals and messages'),
  inner_life: z
    .array(z.enum(INNER_LIFE))
    .default([])
    .describe(
      'Parts of the inner life that prompts also contain while the agent works on a goal: persona (traits, values, its story), mood (with what it suffers from), economy (money and condition). Prompts that choose a goal always contain all of them',
    ),
  max_steps: z.int().min(1).max(1000).default(20).describe('Maximum model calls for a goal in one cycle'),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .default(0)
    .describe('Sampling temperature of the model, from 0 (least random) to 2 (most random)'),
  max_tokens: z.int().min(1).max(1_000_000).default(4096).describe('Maximum tokens of one answer of the model'),
  parameters: ModelParameters.default({}).describe(
    'Further parameters of the model; they take precedence over those set for the model',
  ),
  max_cost_usd: z
    .number()
    .min(0)
    .default(0)
    .describe(
      'Maximum that one agent may spend on pursuing goals over its life, and the cost limit of each one-shot task, in USD; 0 = unlimited',
    ),
  max_total_cost_usd: z
    .number()
    .min(0)
    .default(0)
    .describe(
      'Maximum that one agent may spend in total over its life, in USD: on goals, chat, tasks, life events and its sub-agents; 0 = unlimited',
    ),
  system_prompt: z.string().default('').describe('Further instructions, added to the system prompt'),
  skills: z
    .array(z.string())
    .default([])
    .describe('Names of skills that its agents may load (svc skills lists them); * for all'),
  toolkits: z.array(z.string()).nullable().default(null).describe('Toolkits that its agents are given; null gives all'),
  tools: z.array(z.string()).nullable().default(null).describe('Tools that its agents are given; null or [] gives all'),
  core: z
    .array(z.string())
    .nullable()
    .default(null)
    .describe(
      'Toolkits that prompts contain from the first step, in this order; agents find the others with find_tools. null: those of `toolkits`, or the everyday ones',
    ),
  workspace: z
    .union([z.string(), FolderInput])
    .default('')
    .describe('Folder that its agents work in, relative to the project; if empty, each agent gets its own folder'),
  folders: z
    .array(FolderInput)
    .max(20)
    .default([])
    .describe('Further folders that its agents may use; read-only by default'),
  worktree: z
    .enum(['agent', 'goal'])
    .nullable()
    .default(null)
    .describe(
      'Git worktree of the workspace for its agents: `agent`: one branch for all work; `goal`: one branch for each goal; null: none',
    ),
  autonomy: z.string().default('medium').describe('Accepted but ignored; set persona.autonomy_level instead'),
})
export type Profile = z.infer<typeof Profile>

/** Checks names of toolkits and tools. */
export interface ToolNames {
  /** Returns a message for each name that does not exist. */
  unknownNames(kind: 'toolkit' | 'tool', names: readonly string[]): string[]
}
export const ToolNames = token<ToolNames>('tool_names')

export interface Profiles {
  /**
   * Returns the profile as it is on disk now, for creating something from it, such as an agent.
   * @throws ProfileNotFoundError, BadFileError
   */
  read(name: string): Promise<Profile>
  /**
   * Returns the profile for existing agents. If its file became invalid or vanished, returns the last good copy and
   * warns once.
   * @param when `beat`: for a cycle; accepts a read of the file within the last second
   * @throws ProfileNotFoundError, BadFileError
   */
  get(name: string, when?: 'now' | 'beat'): Promise<Profile>
  /**
   * Returns the text of the profile's skills that are single files, `skills/<name>.md`, in order. Skips other skills.
   */
  skills(profile: Profile): Promise<string>
  /** Returns the names of all presets, invalid ones included, without reading their files. */
  names(): Promise<string[]>
  /** Returns all presets by name, invalid ones with their error. */
  list(): Promise<{ name: string; file: string; profile: Profile | null; error: string | null }[]>
}
export const Profiles = token<Profiles>('profiles', {
  read: 'function',
  get: 'function',
  skills: 'function',
  names: 'function',
  list: 'function',
})

declare module '#kernel' {
  interface Replaceable {
    profiles: { profiles: Profiles }
  }
}

export const ProfileNotFoundError = defineError({
  code: 'profile_not_found',
  status: 404,
  title: 'Profile not found',
  message: (p: { name: string; known: string[] }) =>
    `There is no profile "${p.name}"; there are: ${p.known.join(', ') || 'none'}.`,
})
