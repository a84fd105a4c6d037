import { token, z } from '#kernel'

const threshold = (initial: number) => z.number().min(0).max(1).default(initial)
const hours = (initial: number) => z.number().min(0.01).max(10_000).default(initial)

/** The section `suffering`. Hours are hours of an agent's waking time, times `time_scale`. */
export const SufferingConfig = z.object({
  enabled: z.boolean().default(true).describe('Whether agents have stressors, and their personas change over time'),
  threshold_prominent: threshold(0.35).describe("Load at which an agent's prompt begins to describe its suffering"),
  threshold_constrained: threshold(0.55).describe('Load at which suffering begins to constrain the agent'),
  threshold_dominant: threshold(0.75).describe(
    'Load at which suffering comes before everything else, and to which it must fall before a crisis ends',
  ),
  threshold_crisis: threshold(0.9).describe('Load at which a crisis begins'),
  max_stressors: z.int().min(1).max(50).default(5).describe('Maximum number of stressors active at the same time'),
  initial_severity: z.number().min(0.02).max(1).default(0.2).describe('Initial severity of a new stressor'),
  escalation_rates: z
    .record(z.string().min(1).max(64), z.number().min(0).max(100))
    .default({})
    .describe('Increase of severity per hour, by stressor name; replaces the rate of the stressor'),
  time_scale: z
    .number()
    .min(0)
    .max(1_000)
    .default(1)
    .describe('Speed of suffering: with 60, one minute counts as an hour; 0 stops it'),
  crisis_relief: hours(1).describe('Time constant in hours with which severities fall in a crisis'),
  easing: hours(1).describe('Time constant in hours with which a stressor fades after its cause has ended'),
  persona_return: hours(24).describe("Time constant in hours with which a persona returns to its profile's values"),
  behavioural_effects: z
    .boolean()
    .default(true)
    .describe(
      'Whether suffering also changes the temperature and lowers max_steps, in addition to the text in the prompt',
    ),
})
export type SufferingConfig = z.infer<typeof SufferingConfig>

export const SufferingSettings = token<SufferingConfig>('suffering/config')
