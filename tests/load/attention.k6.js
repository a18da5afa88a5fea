// SPDX-License-Identifier: MIT
// Constant arrival rate against POST /attention; fails on a wrong reply, on
// 1 % of errors, or on a p99 above 500 ms.
//     k6 run -e URL=http://127.0.0.1:8080 -e N=64 -e D=64 -e RATE=50 FILE
import http from 'k6/http';
import { check } from 'k6';

const url = __ENV.URL || 'http://127.0.0.1:8080';
const n = Number(__ENV.N || 64);
const d = Number(__ENV.D || 64);

export const options = {
    scenarios: {
        attention: {
            executor: 'constant-arrival-rate',
            rate: Number(__ENV.RATE || 50),
            timeUnit: '1s',
            duration: __ENV.DURATION || '30s',
            preAllocatedVUs: 50,
            maxVUs: 500,
        },
    },
    thresholds: {
        checks: ['rate>0.99'],
        http_req_failed: ['rate<0.01'],
        http_req_duration: ['p(99)<500'],
    },
};

function matrix(rows, columns) {
    return Array.from({ length: rows }, () =>
        Array.from({ length: columns }, () => Math.random() * 2 - 1));
}

export function setup() {
    return JSON.stringify({
        Q: matrix(n, d), K: matrix(n, d), V: matrix(n, d),
        return: ['output', 'lse'],
    });
}

export default function (body) {
    const reply = http.post(`${url}/attention`, body, {
        headers: { 'Content-Type': 'application/json' },
    });
    check(reply, {
        'is 200': (r) => r.status === 200,
        'has n rows': (r) => r.status === 200
            && r.json('output').length === n,
    });
}
