// A goal strategy: decides what an idle agent does next, here the next line of the file `goals.txt`.
// `undefined` leaves the decision to the next strategy; the last one asks the agent's own model.
import { join } from 'node:path'
import { definePlugin } from 'svc'

export default definePlugin({
  name: 'goal-list',
  description: 'Idle agents take the next line of goals.txt; when it is empty, their model finds goals.',
  setup(svc) {
    const file = join(svc.project.root, 'goals.txt')
    // Runs one at a time, so that two agents never take the same line.
    let taking: Promise<unknown> = Promise.resolve()
    const take = async () => {
      const text = await svc.ports.files.readFile(file, 'utf8').catch(() => '')
      const [line, ...rest] = text.split('\n').filter(each => each.trim() !== '')
      if (line !== undefined) await svc.ports.files.writeFile(file, rest.map(each => `${each}\n`).join(''))
      return line
    }
    svc.goalStrategy({
      async generateGoal() {
        const taken = taking.then(take)
        taking = taken.catch(() => {})
        const objective = await taken
        if (objective === undefined) return undefined
        return { objective, reasoning: 'It was next on the list.', cost_usd: 0, tokens: 0 }
      },
    })
  },
})
