export declare const peers: readonly unknown[];
