# SPDX-License-Identifier: Apache-2.0
# make python-wheel: the Python package, build/python/moeswitch-VERSION-py3-none-any.whl; its C
# declarations are those of the headers here.
PYTHON := $(B)/python
PYTHON_WHEEL := $(PYTHON)/moeswitch-$(VERSION)-py3-none-any.whl
PIP = $(PY) -m pip --disable-pip-version-check -q

$(PYTHON_WHEEL): $(wildcard bindings/python/*.* bindings/python/moeswitch/*.py) driver/include/moeswitch.h $(GEN_H) \
    | $(B)/.setup
	$(call say,WHEEL,$@)
	$(Q)rm -rf $(PYTHON) && mkdir -p $(PYTHON) && cp -r bindings/python $(PYTHON)/source
	$(Q)CC=$(CC) CFLAGS='-I$(abspath driver/include) -I$(abspath $(GEN))' $(PIP) wheel --no-deps --no-build-isolation \
	    --no-index -w $(PYTHON) ./$(PYTHON)/source

.PHONY: python-wheel python-check
python-wheel: $(PYTHON_WHEEL)

# as it is installed, with the library here
TEST_CMDS += --command 'python: make python-check'
python-check: $(PYTHON_WHEEL) $(B)/libmoeswitch.so $(B)/moeswitch
	$(Q)rm -rf $(PYTHON)/site && $(PIP) install --no-deps --no-index --target $(PYTHON)/site $(PYTHON_WHEEL)
	$(Q)export PYTHONPATH=$(abspath $(PYTHON))/site MOESWITCH_LIBRARY=$(abspath $(B))/libmoeswitch.so; \
	    export MOESWITCH_TOOL=$(abspath $(B))/moeswitch; $(PY) -W error bindings/python/tests/test_plan.py && \
	    $(PY) -W error bindings/python/tests/test_chakra.py && \
	    $(PY) -W error bindings/python/tests/test_moeswitch.py && $(PY) -W error bindings/python/tests/test_processes.py \
	    && $(PY) -W error bindings/python/examples/layer.py \
	    && $(PY) -W error bindings/python/examples/backward.py
