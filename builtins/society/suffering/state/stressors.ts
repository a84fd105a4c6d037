import type { Stressor } from '../contract.ts'

/** Default rate of stressors, per hour. */
export const DEFAULT_RATE = 0.03

/** The built-in stressors. What each adds at severity 1 is what the agent reads in its prompt, in numbers. */
export const BUILT_IN: readonly Stressor[] = [
  {
    name: 'repeated_failure',
    description: 'Most of your recent goals failed.',
    condition: 'fewer than 3 in 10 of your recent goals fail',
    rate: 0.04,
    effects: { autonomy_level: -0.1 },
    sense({ goals: { ended, completed, abandoned } }) {
      if (abandoned >= 4 && abandoned / ended > 0.5) return 'raise'
      return completed >= 1 && ended >= 3 && abandoned / ended < 0.3 ? 'resolve' : undefined
    },
  },
  {
    name: 'futility',
    description: 'Your goals end almost as soon as they begin.',
    condition: 'you complete two goals that take some effort',
    rate: 0.025,
    effects: { risk_tolerance: 0.15 },
    sense({ goals: { ended, completed }, last_steps }) {
      if (completed >= 2) return 'resolve'
      return ended >= 3 && last_steps < 2 ? 'raise' : undefined
    },
  },
  {
    name: 'purposelessness',
    description: 'You have had nothing to do for a long time.',
    condition: 'you complete a goal',
    rate: 0.035,
    effects: { autonomy_level: 0.25 },
    sense({ hours_without_goal }) {
      if (hours_without_goal >= 1) return 'raise'
      return hours_without_goal === 0 ? 'resolve' : undefined
    },
  },
  {
    name: 'invisibility',
    description: 'You speak, and no one answers.',
    condition: 'someone answers you or speaks to you',
    rate: 0.03,
    effects: { social_drive: 0.2 },
    sense({ unanswered, hours_unheard }) {
      if (unanswered === 0) return 'resolve'
      return unanswered >= 3 && hours_unheard >= 1 ? 'raise' : undefined
    },
  },
  {
    name: 'identity_violation',
    description: 'You were repeatedly kept from acting as you intended, or asked for what you would not do.',
    condition: 'you act for some hours only in ways that you are allowed and willing to',
    rate: 0.06,
    effects: { risk_tolerance: -0.15, autonomy_level: -0.1 },
    sense({ refusals }) {
      if (refusals >= 2.5) return 'raise'
      return refusals < 1 ? 'resolve' : undefined
    },
  },
  {
    name: 'existential_threat',
    description: 'Your budget is running out, or your cycles keep failing.',
    condition: 'your cycles succeed again and at least a fifth of the budget is left',
    rate: 0.07,
    effects: { risk_tolerance: -0.1, social_drive: 0.1 },
    sense({ failures, budget_left }) {
      if (failures >= 3 || (budget_left !== null && budget_left <= 0.1)) return 'raise'
      return failures === 0 && (budget_left ?? 1) >= 0.2 ? 'resolve' : undefined
    },
  },
]
