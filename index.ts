/** The package's entry point: what `import … from 'svc'` gives. */

export * from './embed/deprecated.ts'
export * from './embed/moved.ts'
export * from './embed/public.ts'
