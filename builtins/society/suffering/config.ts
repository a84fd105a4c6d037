import { token, z } from '#kernel'

const threshold = (initial: number) => z.number().min(0).max(1).default(initial)
const hours = (initial: number) => z.number().min(0.01).max(10_000).default(initial)

/** The section `suffering`. Hours are hours of an agent's waking time, times `time_scale`. */
export const SufferingConfig = z.object({
  enabled: z.boolean().default(true).describe('Whether agents suffer, and their personas move'),
  threshold_prominent: threshold(0.35).describe("From this load on an agent's prompt describes how it suffers"),
  threshold_constrained: threshold(0.55).describe('From this load on that constrains it'),
  threshold_dominant: threshold(0.75).describe('From this load on that comes first; a crisis ends below it'),
  threshold_crisis: threshold(0.9).describe('With this load a crisis begins'),
  max_stressors: z.number().int().min(1).max(50).default(5).describe('Active at the same time'),
  initial_severity: z.number().min(0.02).max(1).default(0.2).describe('Of a new stressor'),
  escalation_rates: z
    .record(z.string().min(1).max(64), z.number().min(0).max(100))
    .default({})
    .describe('Severity per hour by stressor, in place of its own rate'),
  time_scale: z
    .number()
    .min(0)
    .max(1_000)
    .default(1)
    .describe('How fast it goes: 60 makes hours of minutes, 0 stops it'),
  crisis_relief: hours(1).describe('Time constant with which severities fall in a crisis'),
  easing: hours(1).describe('Time constant with which a stressor fades whose condition is gone'),
  persona_return: hours(24).describe("Time constant with which a persona returns to its profile's values"),
  behavioural_effects: z
    .boolean()
    .default(true)
    .describe("Whether suffering also moves the temperature and lowers max_steps, beside the prompt's words"),
})
export type SufferingConfig = z.infer<typeof SufferingConfig>

export const SufferingSettings = token<SufferingConfig>('suffering/config')
