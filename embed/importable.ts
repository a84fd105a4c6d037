/** Returns the modules that plugin files import by name: `svc`, and `svc/<module>` for each module. */
export async function importable(): Promise<Record<string, object>> {
  const [known, deprecated, modules] = await Promise.all([
    import('./public.ts'),
    import('./deprecated.ts'),
    import('./modules.ts'),
  ])
  const named = Object.entries(modules).map(([name, module]) => [`svc/${name}`, module] as const)
  return { svc: { ...deprecated, ...known }, ...Object.fromEntries(named) }
}
