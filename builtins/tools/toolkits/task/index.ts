import { definePlugin } from '#kernel'
import { Effects, Store } from '#platform/store/contract'
import { Copyables } from '#tools/toolkits/clipboard/contract'
import { todoOperations } from './operations.ts'
import { findTodo, TODO_EFFECTS } from './repository.ts'
import { taskToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-task',
  description: "Tools for an agent's to-do list.",
  needs: ['store', 'agents'],
  setup(svc) {
    for (const effect of TODO_EFFECTS) svc.add(Effects, effect.kind)
    svc.toolkit(taskToolkit(svc))
    for (const operation of todoOperations) svc.operation(operation)
    svc.add(Copyables, {
      name: 'task',
      text: async (agent_id, id) => (await findTodo(svc.use(Store), id, agent_id))?.description,
    })
  },
})
