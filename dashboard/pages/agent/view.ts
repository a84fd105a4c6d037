import type { Query } from '../../api/query.ts'
import type { Place } from '../../routes.ts'
import type { Agent } from '../../ui/types.ts'

/** What each view of an agent is given. */
export interface ViewProps {
  agent: Agent
  place: Place
  reload: Query<Agent>['reload']
}
