# SPDX-License-Identifier: MIT
# Built and tested on Debian; what is left is the daemon, the libraries that it
# loads and their papers: no shell, no package manager, nothing to write to.
# `make image` builds it with the labels and dates of the commit, and so does
#     docker build -t attentiond .   (podman: with --format docker)
#     docker run --rm -p 127.0.0.1:8080:8080 attentiond
# without.
ARG BASE=debian:bookworm-slim

FROM $BASE AS tools
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y \
        --no-install-recommends make gcc libc6-dev pkg-config \
        libmicrohttpd-dev libjansson-dev libopenblas-dev zlib1g-dev \
        libyaml-dev check libcurl4-gnutls-dev \
    && rm -rf /var/lib/apt/lists/*

FROM tools AS test
WORKDIR /src
COPY . .
ENV CFLAGS=-O2 WERROR=1
# Or daemon, where these sources have been tested on this base.
ARG CHECK=check-unit
RUN make -j"$(nproc)" daemon $CHECK

FROM test AS build
# Another directory than that of the tests builds anew, to compare.
ARG OBJECTS=build
RUN make -j"$(nproc)" "B=$OBJECTS" daemon
ARG SOURCE_DATE_EPOCH=0
RUN tools/image_root.sh "$OBJECTS/attentiond" /image "$SOURCE_DATE_EPOCH"

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="attentiond" \
      org.opencontainers.image.description="Attention as a network service" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED" \
      org.opencontainers.image.base.name="scratch"
COPY --from=build /image /
# One thread of OpenBLAS: it starts its own as it is loaded, before the daemon
# can say how many, and they would count against a limit of processes.
ENV ATTENTIOND_HOST=0.0.0.0 OPENBLAS_NUM_THREADS=1
USER 65532:65532
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=2s --start-period=5s --retries=3 \
    CMD ["/attentiond", "--healthcheck"]
ENTRYPOINT ["/attentiond"]
