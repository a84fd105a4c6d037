import type { ComponentType } from 'preact'
import { useEffect, useErrorBoundary, useLayoutEffect, useRef } from 'preact/hooks'
import { faultOf } from './api/client.ts'
import { useQuestions, useWaiting } from './api/waiting.ts'
import { VIEWS as AGENT_VIEWS, AgentPage } from './pages/agent/index.tsx'
import { VIEWS as APPROVAL_VIEWS, Approvals } from './pages/approvals/index.tsx'
import { Config } from './pages/config/index.tsx'
import { Events } from './pages/events/index.tsx'
import { Fleet } from './pages/fleet/index.tsx'
import { Models } from './pages/models/index.tsx'
import { Plugins } from './pages/plugins/index.tsx'
import { Runs } from './pages/runs/index.tsx'
import { Sessions } from './pages/sessions/index.tsx'
import { VIEWS as SOCIETY_VIEWS, Society } from './pages/society/index.tsx'
import { Spend } from './pages/spend/index.tsx'
import { type Place, to, usePlace } from './routes.ts'
import { scrollToPlace } from './scroll.ts'
import { FrozenBanner, Head } from './shell/head.tsx'
import { Nav } from './shell/nav.tsx'
import { keepFocus } from './ui/focus.ts'
import { Trouble } from './ui/states.tsx'
import { visible } from './ui/text/format.ts'
import { Toasts } from './ui/toasts.tsx'

interface Page {
  page: string
  name: string
  icon: string
  view: ComponentType<{ place: Place }>
  /** Tabs of the page, whose ids are parts of its address. */
  tabs?: readonly { id: string; name: string }[]
}

/** Pages by the first part of their address, in the order of the navigation. */
const PAGES: readonly Page[] = [
  { page: '', name: 'Fleet', icon: 'fleet', view: Fleet },
  { page: 'society', name: 'Society', icon: 'society', view: Society, tabs: SOCIETY_VIEWS },
  { page: 'approvals', name: 'Approvals', icon: 'approvals', view: Approvals, tabs: APPROVAL_VIEWS },
  { page: 'sessions', name: 'Sessions', icon: 'sessions', view: Sessions },
  { page: 'runs', name: 'Runs', icon: 'runs', view: Runs },
  { page: 'spend', name: 'Spend', icon: 'spend', view: Spend },
  { page: 'plugins', name: 'Plugins', icon: 'plugins', view: Plugins },
  { page: 'models', name: 'Models', icon: 'models', view: Models },
  { page: 'config', name: 'Configuration', icon: 'config', view: Config },
  { page: 'events', name: 'Events', icon: 'events', view: Events },
]

/** Page that is not in the navigation: other pages link to it. */
const AGENT: Page = { page: 'agents', name: 'Agent', icon: 'fleet', view: AgentPage, tabs: AGENT_VIEWS }

export function App() {
  const place = usePlace()
  const main = useRef<HTMLElement>(null)
  const came = useRef(false)
  const pending = usePending()
  const found = [...PAGES, AGENT].find(({ page }) => page === place.page)
  // The tabs of an agent are one place, so that the bar of tabs does not move.
  const isTab = found === AGENT && place.parts.length < 3
  const spot = [place.page, ...(isTab ? place.parts.slice(0, 1) : place.parts)].join('/')
  // Before the new content can be used: a dialog that it opens returns the focus to what opened it.
  useLayoutEffect(() => {
    // A new visitor starts at the top of the page; after navigation the focus goes to the new content.
    if (came.current) main.current?.focus({ preventScroll: true })
    came.current = true
  }, [spot])
  useEffect(() => {
    const nameOf = (part: string) => found?.tabs?.find(({ id }) => id === part)?.name ?? part
    const names = found ? [...place.parts.map(nameOf).reverse(), found.name] : []
    document.title = visible(`${pending > 0 ? `(${pending}) ` : ''}${[...names, 'svc'].join(' · ')}`)
  }, [place, pending])
  useEffect(() => keepFocus(main.current!), [])
  useLayoutEffect(scrollToPlace, [spot])
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Head />
      <Nav pages={PAGES} here={place.page === AGENT.page ? '' : place.page} exact={place.page !== AGENT.page} />
      <main id="main" tabIndex={-1} ref={main}>
        {found ? (
          <PageOrError key={place.page} view={found.view} place={place} />
        ) : (
          <>
            <h1>Page not found.</h1>
            <p>
              <a href={to('')}>Go to the fleet</a>
            </p>
          </>
        )}
      </main>
      <FrozenBanner />
      <Toasts />
    </>
  )
}

/** Returns the number of calls and questions that wait for the operator, for the tab of the browser. */
const usePending = () => (useWaiting().data?.length ?? 0) + (useQuestions().data?.length ?? 0)

/** A page, or the error that kept it from being drawn, until the reader goes elsewhere. */
function PageOrError({ view: View, place }: { view: Page['view']; place: Place }) {
  const [error, retry] = useErrorBoundary(console.error)
  useEffect(retry, [place])
  if (!error) return <View place={place} />
  return <Trouble fault={faultOf(new Error(`The page cannot be shown: ${error.message}`))} retry={retry} />
}
