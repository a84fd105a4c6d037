import { OpenWorkSources } from '#core/goals/contract'
import { CallLimits } from '#core/models/contract'
import { definePlugin } from '#kernel'
import { addRetentionRule } from '#platform/retention/contract'
import { Effects } from '#platform/store/contract'
import { BUILT_IN } from './built-in.ts'
import { PatternsConfig } from './config.ts'
import { CollaborationPatterns, PatternEnded, PatternStarted } from './contract.ts'
import { patternOperations } from './operations.ts'
import { HAS_RUNNING, PATTERN_EFFECTS } from './repository.ts'
import { OwnPatterns, PatternRunner } from './runner.ts'
import { patternsToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'patterns',
  description: 'Procedures for working together: review, mentor, debate, chain and swarm.',
  needs: ['a2a', 'delegation'],
  section: 'patterns',
  config: PatternsConfig,
  setup(svc, config) {
    for (const effect of PATTERN_EFFECTS) svc.add(Effects, effect.kind)
    for (const pattern of BUILT_IN) svc.add(CollaborationPatterns, pattern)
    addRetentionRule(svc, { name: 'a2a_patterns', key: 'pattern_id', where: "status <> 'running' AND ended_at < ?" })
    svc.event('pattern_started', PatternStarted)
    svc.event('pattern_ended', PatternEnded)

    const runner = new PatternRunner(svc, config)
    svc.provide(OwnPatterns, runner)
    for (const operation of patternOperations) svc.operation(operation)
    svc.toolkit(patternsToolkit(svc, runner))
    svc.on('message_sent', ({ pattern_id }) => void (pattern_id !== null && runner.advance(pattern_id)))
    svc.add(CallLimits, runner.limit())
    svc.add(OpenWorkSources, { name: 'patterns', condition: HAS_RUNNING, open: goal_id => runner.open(goal_id) })
    svc.on('beat', () => runner.sweep())
  },
})
