import type { Query } from '../../api/query.ts'
import type { Place } from '../../routes.ts'
import type { Agent } from '../../ui/types.ts'

/** Properties of each view of an agent. */
export interface ViewProps {
  agent: Agent
  place: Place
  reload: Query<Agent>['reload']
}
