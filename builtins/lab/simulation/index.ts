import { definePlugin } from '#kernel'
import { Simulation } from './contract.ts'
import { simulationOf } from './simulation.ts'

export default definePlugin({
  name: 'simulation',
  description: 'Lives through the whole service in one process, from a seed, while things fail on purpose.',
  needs: ['store', 'models', 'profiles'],
  setup(svc) {
    svc.provide(Simulation, simulationOf(svc))
  },
})
