# SPDX-License-Identifier: MIT
# CONTRIBUTING.md explains the targets, `make help` lists them and these:
#= PORT=8080           where `make run` serves
#= PREFIX=/usr/local   where `make install` installs
#= DESTDIR=            a directory to put in front of PREFIX
#= URL=                a running service for `make load`; else one is started
#= N=4096 D=64 HEADS=1 A=1
#=                     shapes of `make load`: n = 2 ... N, with A returned
#= CONNECTIONS=1 RATE=0
#=                     connections and requests a second of `make load`
#= DURATION=3          seconds of a measurement, and of `make soak` (600)
#= RELEASE=trixie      of Debian, for `make debian-test` and `make image-test`
#= B=build             where everything built goes
#= CC=gcc              or clang; HOST_CC= where CC builds for another machine
#= CFLAGS=-O2 -g       LEVEL_CFLAGS=-O3, what is compiled for each CPU level
#= SAN=                address, undefined, address,undefined or thread
#= WERROR=1            warnings are errors
#= V=1                 prints whole commands
# Programs are found by their place, so a new source file needs no line here.

ifeq ($(origin CC),default)
CC := gcc
endif
HOST_CC ?= gcc
B ?= build
PORT ?= 8080
PREFIX ?= /usr/local
PKG_CONFIG ?= pkg-config
HOST_PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g
LEVEL_CFLAGS ?= -O3
MAKEFLAGS += --no-builtin-rules --no-print-directory

build_packages := gcc libc6-dev pkg-config libmicrohttpd-dev libjansson-dev \
	libopenblas-dev zlib1g-dev libyaml-dev curl
bench_packages := check libcurl4-gnutls-dev python3 wrk
test_packages := $(bench_packages) nodejs hey
loader_packages := gcc libc6-dev pkg-config libcurl4-gnutls-dev python3 wrk
node_packages := nodejs npm
more_packages := clang shellcheck prometheus $(node_packages)

# --- what is built from what -------------------------------------------------

VERSION := $(shell sed -n 's/.*ATTN_VERSION "\(.*\)".*/\1/p' lib/attention.h)
, := ,
# plain, plain-clang, address, address-undefined-clang, ...
compiler := $(filter-out gcc cc,$(notdir $(firstword $(CC))))
variant := $(or $(subst $(,),-,$(SAN)),plain)$(addprefix -,$(compiler))
O := $(B)/$(variant)
run := $(if $(EMULATOR),EMULATOR='$(EMULATOR)') tests/run.sh \
	$(if $(SAN),--sanitizer $(SAN)) $(O)

# A source called *_levels.c is compiled once for each CPU level.
ifneq (,$(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)))
levels := v2 v3 v4
else
levels := base
endif
level_v2 := -march=x86-64-v2
level_v3 := -march=x86-64-v3
level_v4 := -march=x86-64-v4 -mprefer-vector-width=512

objects = $(patsubst %.c,$(O)/%.o,$(1))
leveled := $(wildcard lib/*_levels.c)
lib_objects := $(call objects,$(filter-out $(leveled),$(wildcard lib/*.c))) \
	$(foreach l,$(levels),$(leveled:%.c=$(O)/%_$(l).o))
server_objects := $(call objects,$(wildcard server/*.c)) $(O)/embed.o
support_objects := $(call objects,$(wildcard tests/support/*.c))
unit := $(patsubst %.c,$(O)/%,$(wildcard tests/unit/test_*.c))
api := $(patsubst %.c,$(O)/%,$(wildcard tests/api/test_*.c))
bench := $(patsubst %.c,$(O)/%,$(wildcard tests/bench/bench_*.c))
loaders := $(patsubst %.c,$(O)/%,$(wildcard tests/load/*.c))
examples := $(patsubst %.c,$(O)/%,$(wildcard docs/examples/*.c))
injector := $(O)/tests/inject.so
programs := $(unit) $(api) $(bench)
embedded := openapi.yaml $(B)/openapi.json $(wildcard server/web/*)

# --- flags -------------------------------------------------------------------

once = $(eval $(1) := $$(shell $(2)))$($(1))
packages := libmicrohttpd jansson openblas zlib
tool_packages := yaml-0.1 jansson
pkg_cflags = $(call once,pkg_cflags,$(PKG_CONFIG) --cflags $(packages))
pkg_libs = $(call once,pkg_libs,$(PKG_CONFIG) --libs $(packages))
lib_libs = $(call once,lib_libs,$(PKG_CONFIG) --libs openblas) -lm
test_libs = $(call once,test_libs,$(PKG_CONFIG) --libs check libcurl)

warnings := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
sanitizer := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer)
flags = -std=c11 -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) $(warnings) $(sanitizer) \
	-fPIC -pthread -ffp-contract=off $(pkg_cflags)
compile = $(Q)$(CC) $(flags) $(if $(WERROR),-Werror) -MMD -MP $(1) -c $< -o $@
link = $(Q)$(CC) $(CFLAGS) $(sanitizer) -pthread $(LDFLAGS) $(1) -o $@
Q := $(if $(V),,@)
say = $(if $(V),,@printf '%-5s %s\n' $(1) '$(2)')
make_dir = @mkdir -p $(@D)
setup = @tests/support/setup.sh
remake = +@$(MAKE) $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# --- building ----------------------------------------------------------------

libraries := $(O)/libattention.a $(O)/libattention.so
all: $(O)/attentiond $(libraries) ## build daemon and library (default)

$(lib_objects): private include := -fvisibility=hidden -Ilib
$(server_objects): private include := -Ilib -Iserver
$(O)/tests/%.o: private include := -iquote lib -iquote server \
	-iquote tests/support
$(O)/docs/%.o: private include := -Ilib

# So gcc orders instructions before it gives out registers, of which AVX-512
# has plenty: a fifth less time for what has two vectors in hand.
$(filter %/number_avx512_read.o %/number_avx512_write.o,$(server_objects)): \
	private include += $(if $(filter clang,$(compiler)),,-fschedule-insns \
	-fsched-pressure)

$(O)/%.o: %.c $(O)/settings
	$(call say,CC,$<)
	$(make_dir)
	$(call compile,$(include))

# clang needs a quarter of an hour for unrolled vectors with undefined.
level_sanitizer := $(if $(filter clang,$(compiler)),$(if \
	$(SAN),-fno-sanitize=undefined))
define level_rule
$(O)/lib/%_levels_$(1).o: lib/%_levels.c $(O)/settings
	$$(call say,CC,$$< $(1))
	$$(make_dir)
	$$(call compile,$$(include) $$(LEVEL_CFLAGS) -DLEVEL=$(1) \
		$(level_$(1)) $$(level_sanitizer))
endef
$(foreach l,$(levels),$(eval $(call level_rule,$(l))))

$(O)/libattention.a: $(lib_objects)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(O)/libattention.so: $(lib_objects)
	$(call say,LD,$@)
	$(call link,-shared -Wl$(,)-soname$(,)libattention.so.1 $^ $(lib_libs))

$(O)/attentiond: $(server_objects) $(O)/libattention.a
	$(call say,LD,$@)
	$(call link,$^ $(pkg_libs) -lm)
	$(if $(filter plain,$(variant)),@ln -sf plain/attentiond $(B)/attentiond)

$(programs): %: %.o $(support_objects) \
		$(filter-out %/main.o,$(server_objects)) $(O)/libattention.a
	$(call say,LD,$@)
	$(call link,$^ $(pkg_libs) $(test_libs) -lm)

# Of the tree they need nothing, and of libraries one: a service elsewhere can
# be measured without what builds ours.
$(O)/tests/load/openloop: private library := libcurl
$(O)/tests/load/swallow: private library := libmicrohttpd
$(loaders): $(O)/%: %.c
	$(call say,CC,$<)
	$(make_dir)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) $(warnings) \
		$(if $(WERROR),-Werror) $(sanitizer) $(LDFLAGS) $< -o $@ -lm \
		$(shell $(PKG_CONFIG) --cflags --libs $(library))

# What tests put before a daemon's libraries, to let calls fail.
$(injector): $(O)/tests/inject/inject.o
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS) $< -o $@ -ldl
$(O)/tests/inject/inject.o: private include += -fno-sanitize=all \
	$(if $(SAN),-DINJECT_NO_MALLOC)
$(O)/tests/api/test_faults: | $(injector)

$(examples): %: %.o $(O)/libattention.a
	$(call say,LD,$@)
	$(call link,$^ $(lib_libs) $(test_libs))

# Files built into the daemon: openapi.yaml lies between the symbols
# embed_openapi_yaml and embed_openapi_yaml_end, with a NUL behind it.
$(O)/embed.S: $(embedded) $(O)/settings
	@{ echo '.section .note.GNU-stack,"",%progbits'; \
	echo '.section .rodata'; for f in $(embedded); do \
	s=embed_$$(basename $$f | tr -c 'a-z0-9\n' _); \
	printf '.balign 16\n.global %s, %s_end\n' $$s $$s; \
	printf '%s: .incbin "%s"\n%s_end: .byte 0\n' $$s $$f $$s; \
	done; } > $@

$(O)/embed.o: $(O)/embed.S
	$(call say,AS,$<)
	$(call compile)

$(B)/openapi.json: openapi.yaml $(B)/yaml_to_json
	$(call say,JSON,$@)
	$(Q)$(B)/yaml_to_json < $< > $@

$(B)/yaml_to_json: tools/yaml_to_json.c
	$(call say,CC,$<)
	$(make_dir)
	$(Q)$(HOST_CC) -std=c11 -O2 $(warnings) $< -o $@ \
		$(shell $(HOST_PKG_CONFIG) --cflags --libs $(tool_packages))

# Written anew only when a flag changed; everything depends on it.
$(O)/settings: FORCE
	$(make_dir)
	@$(PKG_CONFIG) --print-errors --exists $(packages) && \
	$(HOST_PKG_CONFIG) --print-errors --exists $(tool_packages) || { \
	echo 'Needed: $(build_packages) (make setup gets them)'; exit 1; }
	@echo '$(CC) $(flags) $(LEVEL_CFLAGS) $(LDFLAGS) $(embedded)' | \
	cmp -s - $@ || \
	echo '$(CC) $(flags) $(LEVEL_CFLAGS) $(LDFLAGS) $(embedded)' > $@

-include $(wildcard $(O)/*/*.d $(O)/*/*/*.d)

# --- using -------------------------------------------------------------------

setup: ## install what building and running need
	$(setup) $(build_packages) -- $(test_packages)

run: setup ## set up, build, serve on PORT, show the worked example
	$(remake) all
	@tests/support/example.sh $(B)/attentiond $(PORT)

test: ## set up, build with warnings as errors, run every test
	$(setup) $(build_packages) $(test_packages)
	$(remake) WERROR=1 check-built

check: ## set up, build, run every test
	$(setup) $(build_packages) $(test_packages)
	$(remake) check-built

check-built: all $(programs) $(loaders) $(examples)
	@$(run) $(unit) $(api) $(second_engine)

number := $(O)/tests/unit/test_number
cores = $(call once,cores,nproc)
test-exhaustive: $(number) $(number)_round ## read and write every float32
	python3 tests/vectors/make_number_cases.py | \
	cmp - tests/vectors/number_cases.txt
	$(number)
	seq -f %g/$(cores) $(cores) | xargs -P $(cores) -I{} \
	env EXHAUSTIVE={} $(number)_round

# What the library computes, once more by the other engine.
computing := attention bits cases forward hidden project properties random \
	vectors
second_engine := TEST_ENGINE=openblas $(computing:%=$(O)/tests/unit/test_%)

build-unit: $(unit)

check-unit: $(unit) ## build, run the unit tests, installing nothing
	@$(run) $(unit) $(second_engine)

daemon: $(O)/attentiond ; @:
openloop: $(O)/tests/load/openloop ; @:

check-more: ## all other checks that CI makes, from lint to debian-test
	$(setup) $(build_packages) $(test_packages) $(more_packages)
	$(remake) lint
	$(remake) openapi
	$(remake) check-metrics
	$(remake) CC=clang WERROR=1 all check-unit
	$(remake) SAN=address,undefined check-unit
	$(remake) arm64
	$(remake) unit-check
	$(remake) proxy-test
	$(remake) image-test
	$(remake) debian-test RELEASE=trixie
	$(remake) image-test RELEASE=trixie CHECK=daemon

lint: ## check layers, style, shell scripts and openapi.yaml
	$(setup) shellcheck $(node_packages)
	tests/lint/layers.sh
	tests/lint/style.sh
	shellcheck .ci/run $(wildcard tools/*.sh tests/*.sh tests/*/*.sh docs/*/*.sh)
	tests/lint/openapi.sh

openapi: ## hold requests, replies and a client against openapi.yaml
	$(setup) $(build_packages) $(node_packages)
	$(remake) all
	tests/openapi/run.sh $(O)/attentiond $(B)/openapi

# Nothing of arm64 is installed here: its packages are unpacked into a directory.
cross := aarch64-linux-gnu
arm64_root := $(abspath $(B))/arm64
arm64_blas := /usr/lib/$(cross)/openblas-pthread
arm64_pc := $(arm64_root)/usr/lib/$(cross)/pkgconfig
arm64_pc := $(arm64_pc):$(arm64_root)$(arm64_blas)/pkgconfig
arm64_make = $(remake) WERROR=1 CC='$(cross)-gcc --sysroot=$(arm64_root)' \
	AR=$(cross)-ar PKG_CONFIG='env PKG_CONFIG_LIBDIR=$(arm64_pc) \
	PKG_CONFIG_SYSROOT_DIR=$(arm64_root) pkg-config'
arm64_emulator := qemu-aarch64 -L $(arm64_root) \
	-E LD_LIBRARY_PATH=$(arm64_blas)
arm64: ## build library, daemon and unit tests for arm64
	$(setup) $(build_packages) gcc-$(cross) libc6-dev-arm64-cross
	@tools/sysroot.sh $(arm64_root) arm64 libc6-dev check \
	$(filter lib%-dev zlib%,$(build_packages) $(test_packages))
	$(arm64_make) all build-unit

arm64-test: arm64 ## run the unit tests of arm64 under qemu-user (many minutes)
	$(setup) qemu-user
	$(arm64_make) check-unit EMULATOR='$(arm64_emulator)'

check-metrics: ## hold /metrics against Prometheus' own checker
	$(setup) $(build_packages) prometheus
	$(remake) daemon
	tests/lint/metrics.sh $(O)/attentiond

sanitize: ## run every test under each sanitizer, gcc and clang (an hour)
	$(setup) $(build_packages) $(test_packages) clang
	$(remake) SAN=address,undefined check
	$(remake) SAN=address,undefined CC=clang check
	$(remake) SAN=thread check
	$(remake) SAN=thread CC=clang check

asan: ; $(remake) SAN=address check ## run every test, memory watched
ubsan: ; $(remake) SAN=undefined check ## run every test, arithmetic watched
tsan: ; $(remake) SAN=thread check ## run every test, threads watched
ubsan: | $(filter asan,$(MAKECMDGOALS))
tsan: | $(filter asan ubsan,$(MAKECMDGOALS))

debian-test: ## try the two commands of the README in a bare Debian
	$(setup) debootstrap
	tests/debian/run.sh $(or $(RELEASE),trixie)

# CHECK=daemon: the build in the image runs no tests.
image_packages := podman runc netavark aardvark-dns catatonit iptables
IMAGE ?= attentiond
image: ## build the container image, with docker or podman (minutes)
	@tools/image.sh $(IMAGE) $(VERSION) $(IMAGE_FLAGS)

image-test: ## build the image on RELEASE, look into it, run it locked up
	@tools/engine.sh >/dev/null 2>&1 || \
	tests/support/setup.sh $(image_packages)
	$(setup) debootstrap python3
	tests/image/test_image.py $(VERSION) $(or $(RELEASE),bookworm) $(CHECK)

proxy-test: ## lose replicas behind HAProxy and nginx
	$(setup) $(build_packages) $(loader_packages) haproxy nginx-light \
	$(node_packages)
	$(remake) daemon openloop
	tests/proxy/test_proxy.py $(O)/attentiond $(O)/tests/load/openloop
	tests/proxy/envoy.sh $(B)/envoy

bench: ## time library, text and whole requests (some five minutes)
	$(setup) $(build_packages) $(bench_packages)
	$(remake) bench-built
	@tests/bench/run.sh $(B)/bench.json $(O) $(bench)

bench-built: all $(bench) $(loaders) ; @:

N ?= 4096
D ?= 64
HEADS ?= 1
CONNECTIONS ?= 1
RATE ?= 0
DURATION ?= 3
load: ## sweep the length over HTTP, here or at URL (five minutes)
	$(setup) $(loader_packages) $(if $(URL),,$(build_packages))
	$(remake) openloop $(if $(URL),,daemon $(O)/tests/load/swallow)
	@python3 tests/load/sweep.py --daemon $(O)/attentiond --to $(N) --d $(D) \
	--tools $(O)/tests/load --out $(B)/load --heads $(HEADS) $(if $(A),--A) \
	--connections $(CONNECTIONS) --rate $(RATE) --seconds $(DURATION) \
	$(if $(URL),--url $(URL))

load-small: load-built ## time small requests beside a bare server
	@python3 tests/load/small.py --daemon $(O)/attentiond \
	--tools $(O)/tests/load --seconds $(DURATION)

load-giant: load-built ## time small requests beside a giant one
	@python3 tests/load/giant.py --daemon $(O)/attentiond \
	--tools $(O)/tests/load

load-built:
	$(setup) $(loader_packages) $(build_packages)
	$(remake) daemon $(loaders)

soak: ## do everything at once for ten minutes, see what grows
	$(setup) $(build_packages) python3
	$(remake) daemon
	@python3 tests/load/soak.py --daemon $(O)/attentiond \
	--seconds $(if $(filter command line,$(origin DURATION)),$(DURATION),600)

unit-check: ## ask systemd whether it finds the units good and safe
	$(setup) $(build_packages) systemd
	$(remake) daemon
	tests/lint/units.sh $(O)/attentiond

to := $(DESTDIR)$(PREFIX)
install: all ## install below PREFIX
	install -d $(addprefix $(to)/,bin include lib/pkgconfig share/attentiond)
	install $(O)/attentiond $(to)/bin
	install -m 644 lib/attention.h $(to)/include
	install -m 644 $(O)/libattention.a $(to)/lib
	install -m 644 $(O)/libattention.so $(to)/lib/libattention.so.1
	ln -sf libattention.so.1 $(to)/lib/libattention.so
	printf '%s\n' 'Name: attention' 'Description: Attention on the CPU' \
		'Version: $(VERSION)' 'Requires.private: openblas' \
		'Libs: -L$(PREFIX)/lib -lattention' 'Libs.private: -lm' \
		'Cflags: -I$(PREFIX)/include' > $(to)/lib/pkgconfig/attention.pc
	install -m 644 openapi.yaml $(to)/share/attentiond
	$(if $(DESTDIR),,-ldconfig)

uninstall: ## remove what install installed
	rm -f $(addprefix $(to)/,bin/attentiond include/attention.h \
		$(addprefix lib/,libattention.a libattention.so libattention.so.1 \
		pkgconfig/attention.pc))
	rm -rf $(to)/share/attentiond

help: ## print this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / \
	{ printf "%-15s %s\n", $$1, $$2 }' Makefile
	@printf '\nSettings, such as make run PORT=9000:\n'
	@sed -n 's/^#= //p' Makefile

clean: ## remove what was built
	rm -rf $(B)

FORCE:
.PHONY: FORCE all arm64 arm64-test asan bench bench-built build-unit check \
	check-built check-metrics check-more check-unit clean daemon debian-test \
	help image image-test install lint load load-built load-giant load-small \
	openapi openloop proxy-test run sanitize setup soak test test-exhaustive \
	tsan ubsan uninstall unit-check
.DELETE_ON_ERROR:
.SECONDARY:
