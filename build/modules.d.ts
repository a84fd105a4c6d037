/** The source file of each `svc/<module>`, relative to the checkout, by the module's name. */
export declare const MODULES: Readonly<Record<string, string>>
