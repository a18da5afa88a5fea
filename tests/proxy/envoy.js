// SPDX-License-Identifier: MIT
// usage: envoy.js RECIPE
// Holds an Envoy configuration against Envoy's own message types, as npm's
// @grpc/grpc-js-xds brings them: every field exists, every enum has that word,
// every message in an Any is what its @type says.
'use strict';
const fs = require('fs');
const path = require('path');
const protobuf = require('protobufjs');
const yaml = require('js-yaml');

const deps = path.join(path.dirname(
    require.resolve('@grpc/grpc-js-xds/package.json')), 'deps');
const { nested } = require('protobufjs/google/protobuf/descriptor.json');
protobuf.common('descriptor', nested.google.nested.protobuf.nested);
const root = new protobuf.Root();
root.resolvePath = (_, target) => fs.readdirSync(deps)
    .map((name) => path.join(deps, name, target))
    .find((file) => fs.existsSync(file)) || target;

const typeOf = (name) => {
    const file = path.join(deps, 'envoy-api', ...name.split('.').slice(0, -1));
    fs.readdirSync(file).filter((x) => x.endsWith('.proto'))
        .forEach((x) => root.loadSync(path.join(file, x), { keepCase: true }));
    return root.lookupType(name);
};

const scalars = {
    bool: (x) => typeof x === 'boolean',
    string: (x) => typeof x === 'string',
    double: (x) => typeof x === 'number',
    uint32: (x) => Number.isInteger(x) && x >= 0,
    uint64: (x) => Number.isInteger(x) && x >= 0,
    int64: Number.isInteger,
};
const wellKnown = {
    '.google.protobuf.Duration': (x) => /^\d+(\.\d+)?s$/.test(x),
    '.google.protobuf.BoolValue': scalars.bool,
    '.google.protobuf.UInt32Value': scalars.uint32,
};
let checked = 0;

function fail(where, text) {
    throw new Error(`${where}: ${text}`);
}

function checkValue(field, value, where) {
    const type = field.resolve().resolvedType;
    const test = scalars[field.type] || (type && wellKnown[type.fullName]);
    checked++;
    if (test) {
        if (!test(value)) fail(where, `${JSON.stringify(value)} is no ` +
            (type ? type.fullName : field.type));
    } else if (type instanceof protobuf.Enum) {
        if (!(value in type.values)) fail(where, `${value} is no ${type.name}`);
    } else if (type && type.fullName === '.google.protobuf.Any') {
        const { '@type': url, ...message } = value;
        checkMessage(typeOf(url.replace('type.googleapis.com/', '')), message,
            where);
    } else if (type) {
        checkMessage(type, value, where);
    } else {
        fail(where, `no rule for ${field.type}`);
    }
}

function checkMessage(type, message, where) {
    for (const [name, value] of Object.entries(message)) {
        const field = type.fields[name];
        const at = `${where}.${name}`;
        if (!field) fail(at, `${type.fullName} has no such field`);
        const isList = field.repeated && !field.map;
        if (isList !== Array.isArray(value)) fail(at, 'a list, or none');
        const values = field.map || isList ? Object.entries(value)
            : [['', value]];
        values.forEach(([key, x]) => checkValue(field, x, `${at}[${key}]`));
    }
}

const recipe = yaml.load(fs.readFileSync(process.argv[2], 'utf8'));
const { listeners, clusters } = recipe.static_resources;
listeners.forEach((x) =>
    checkMessage(typeOf('envoy.config.listener.v3.Listener'), x, x.name));
clusters.forEach((x) =>
    checkMessage(typeOf('envoy.config.cluster.v3.Cluster'), x, x.name));
console.log(`${checked} values of the Envoy recipe are as Envoy's types say`);
