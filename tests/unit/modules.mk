UNIT += fifo_sizes
UNIT_SRCS_fifo_sizes := rtl/common/fifo.sv rtl/common/fifo_ram.sv rtl/common/fifo_sized.sv rtl/common/ram_sdp.sv \
    tests/unit/common/fifo_sizes.sv
UNIT += rr_arb_sizes
UNIT_SRCS_rr_arb_sizes := rtl/common/rr_arb.sv tests/unit/common/rr_arb_sizes.sv
UNIT += reduce_lane
UNIT_SRCS_reduce_lane := rtl/common/numbers/fp32_add.sv rtl/common/numbers/reduce_lane.sv
$(eval $(call variant,reduce_lane_plain,reduce_lane,RedTypes=1 RedOps=1))
UNIT_GIVEN_reduce_lane_plain := RedTypes=1 RedOps=1
UNIT += fp64_add
UNIT_SRCS_fp64_add := rtl/common/numbers/fp64_add.sv
UNIT += reduce_flit
UNIT_SRCS_reduce_flit := rtl/common/numbers/reduce_flit.sv
UNIT_PARAMS_reduce_flit := Words=2 RedTypes=1023
UNIT_GIVEN_reduce_flit := RedTypes=1023
UNIT_FLAGS_reduce_flit := -Wno-WIDTHTRUNC
UNIT += packet_acc
UNIT_SRCS_packet_acc := rtl/common/packet_acc.sv
UNIT_PARAMS_packet_acc := FlitBytes=8 MetaWidth=12
$(eval $(call variant,packet_acc_16,packet_acc,FlitBytes=16 MetaWidth=12 RedTypes=1023))
UNIT += pkt_fifo
UNIT_SRCS_pkt_fifo := rtl/common/pkt_fifo.sv
UNIT += expert_lane
UNIT_SRCS_expert_lane := rtl/gpu/expert_factor.sv rtl/gpu/expert_lanes.sv tests/unit/gpu/expert_lane.sv
UNIT += gpu_mem
UNIT_PARAMS_gpu_mem := FlitBytes=8 MemBytesLog2=14
UNIT_SRCS_gpu_mem := rtl/gpu/gpu_mem.sv
$(eval $(call variant,gpu_mem_16,gpu_mem,FlitBytes=16 MemBytesLog2=14))
UNIT += mem_rd_mux
UNIT_PARAMS_mem_rd_mux := FlitBytes=8 MemBytesLog2=14
UNIT_SRCS_mem_rd_mux := rtl/gpu/mem_rd_mux.sv
UNIT += stat_counters
UNIT_SRCS_stat_counters := rtl/common/lutram.sv rtl/common/stat_counters.sv
UNIT += node_csr
UNIT_SRCS_node_csr := rtl/fabric/node_csr.sv
UNIT_PARAMS_node_csr := N=32 RowsLog2=31 TokensLog2=15 MaxLocalExperts=127 NumErr=3 SwitchReductions=1 \
    TileReductions=1 MergeLoads=1 SumEntries=16 RowSparse=1 SourceLists=1 RpmEntries=8 RowTypes=1 GateGradients=1 \
    CachedHandle=1 BalanceRows=1
UNIT += fabric_csr
UNIT_SRCS_fabric_csr := rtl/fabric/fabric_csr.sv
UNIT_PARAMS_fabric_csr := N=5 FlitBytes=8 MemBytesLog2=14 RowsLog2=10 TokensLog2=8 MaxExperts=64 MaxLocalExperts=16 \
    Groups=16 StorePkts=16 SwitchReductions=1 TileReductions=1 MergeLoads=1 MergeEntries=24 OpenLoads=16 \
    OpenSyncs=4 SumEntries=12 RowTypes=1 GateGradients=1 BalanceRows=1
$(eval $(call variant,fabric_csr_72,fabric_csr,$(patsubst N=5,N=72,$(UNIT_PARAMS_fabric_csr))))
UNIT += send
UNIT_SRCS_send := rtl/hub/send/send.sv
UNIT_PARAMS_send := N=4 FlitBytes=8 MemBytesLog2=15 TokensLog2=8 MaxExperts=64 Groups=16 RpmEntries=8 \
    SwitchReductions=0 RowTypes=0
$(eval $(call variant,send_16,send,N=8 FlitBytes=16 MemBytesLog2=18 TokensLog2=10 MaxExperts=128 Groups=128 \
    RpmEntries=8 SwitchReductions=0 SumEntries=16 RowTypes=1))
$(eval $(call variant,send_by_switch,send,N=4 FlitBytes=8 MemBytesLog2=15 TokensLog2=8 MaxExperts=64 Groups=16 \
    RpmEntries=0 SwitchReductions=1 RowTypes=0))
$(eval $(call variant,send_by_switch_16,send,N=8 FlitBytes=16 MemBytesLog2=18 TokensLog2=10 MaxExperts=128 Groups=16 \
    RpmEntries=8 SwitchReductions=1 RowTypes=0))
UNIT += switch_2_8
UNIT_TOP_switch_2_8 := switch_bench
UNIT_TEST_switch_2_8 := tests/unit/switch/test_switch.cpp
UNIT_SRCS_switch_2_8 := tests/unit/switch/switch_bench.sv
UNIT_C_switch_2_8 := $(sort $(wildcard tests/unit/switch/switch_*.cpp))
UNIT_PARAMS_switch_2_8 := N=2 FlitBytes=8 MaxExperts=64 StorePkts=16 Window=0
$(eval $(call variant,switch_4_8,switch_2_8,N=4 FlitBytes=8 MaxExperts=64 StorePkts=16))
$(eval $(call variant,switch_5_16,switch_2_8,N=5 FlitBytes=16 MaxExperts=64 StorePkts=16))
$(eval $(call variant,switch_8_16,switch_2_8,N=8 FlitBytes=16 MaxExperts=64 StorePkts=16))
$(eval $(call variant,switch_shared_ram_8,switch_2_8,N=4 FlitBytes=8 MaxExperts=64 StorePkts=16 PartSharedRam=1))
$(eval $(call variant,switch_shared_ram_16,switch_2_8,N=5 FlitBytes=16 MaxExperts=64 StorePkts=16 PartSharedRam=1))
# rows that the switch opens
$(eval $(call variant,switch_reductions_2_8,switch_2_8,N=2 FlitBytes=8 MaxExperts=64 StorePkts=16 Window=0 \
    TokensLog2=5 OpenRows=3 SwitchReductions=1))
$(eval $(call variant,switch_reductions_5_16,switch_2_8,N=5 FlitBytes=16 MaxExperts=64 StorePkts=16 TokensLog2=7 \
    SwitchReductions=1))
$(eval $(call variant,switch_reductions_8_8,switch_2_8,N=8 FlitBytes=8 MaxExperts=64 StorePkts=16 TokensLog2=6 \
    SwitchReductions=1))
# ... of rows that all compute
$(eval $(call variant,switch_tiles_2_8,switch_2_8,N=2 FlitBytes=8 MaxExperts=64 StorePkts=16 Window=0 \
    TokensLog2=5 OpenRows=3 SwitchReductions=1 TileReductions=1))
$(eval $(call variant,switch_tiles_5_16,switch_2_8,N=5 FlitBytes=16 MaxExperts=64 StorePkts=16 TokensLog2=7 \
    SwitchReductions=1 TileReductions=1))
# ... and rows that all load
$(eval $(call variant,switch_loads_2_8,switch_2_8,N=2 FlitBytes=8 MaxExperts=64 StorePkts=16 Window=0 TokensLog2=5 \
    OpenRows=3 SwitchReductions=1 TileReductions=1 MergeLoads=1 MergeEntries=4 MergeWays=1 OpenLoads=4 OpenSyncs=2))
$(eval $(call variant,switch_loads_5_16,switch_2_8,N=5 FlitBytes=16 MaxExperts=64 StorePkts=16 TokensLog2=7 \
    SwitchReductions=1 TileReductions=1 MergeLoads=1 MergeEntries=24 MergeWays=3 OpenLoads=16 OpenSyncs=4 \
    MergeKeep=4096 KeepRows=4))
$(eval $(call variant,switch_reductions_shared_ram,switch_2_8,N=4 FlitBytes=8 MaxExperts=64 StorePkts=16 TokensLog2=7 \
    PartSharedRam=1 SwitchReductions=1))
$(eval $(call variant,switch_min,switch_2_8,N=4 FlitBytes=16 MaxExperts=64 OpenRows=1 StorePkts=1 CtrlPkts=1 Window=1 \
    PartPkts=1 RxStorePkts=1 RxResultPkts=1 RxCtrlPkts=1 TargetListCache=0 SwitchReductions=0))
# every signal can be seen: the modules inside are tested one by one
UNIT += ingress
UNIT_SRCS_ingress := rtl/switch/input/ingress.sv
UNIT_C_ingress := tests/unit/switch/input/ingress_queue.cpp tests/unit/switch/input/ingress_targets.cpp \
    tests/unit/switch/input/ingress_copies.cpp
UNIT_FLAGS_ingress := --public-flat-rw
UNIT_PARAMS_ingress := N=4 FlitBytes=8 MaxExperts=64 OpenRows=8 StorePkts=16 CtrlPkts=16 PartSharedRam=1 \
    SwitchReductions=0
$(eval $(call variant,ingress_16,ingress,N=5 FlitBytes=16 MaxExperts=128 OpenRows=8 StorePkts=16 CtrlPkts=16 \
    PartSharedRam=0 SwitchReductions=0))
$(eval $(call variant,ingress_min,ingress,N=2 FlitBytes=8 MaxExperts=16 OpenRows=1 StorePkts=1 CtrlPkts=1 \
    PartSharedRam=0 TargetListCache=0 SwitchReductions=0))
$(eval $(call variant,ingress_kept,ingress,N=5 FlitBytes=16 MaxExperts=64 OpenRows=8 StorePkts=16 CtrlPkts=16 \
    PartSharedRam=0 TokensLog2=6 SwitchReductions=1 TileReductions=1 MergeLoads=1 MergeEntries=12 MergeWays=3 \
    MergeKeep=4096 KeepRows=4))
UNIT += egress
UNIT_TOP_egress := switch_output
UNIT_SRCS_egress := tests/unit/switch/output/switch_output.sv
UNIT_C_egress := tests/unit/switch/output/egress_queues.cpp
UNIT_FLAGS_egress := --public-flat-rw
UNIT_PARAMS_egress := N=4 FlitBytes=8 OpenRows=8 StorePkts=16 CtrlPkts=16 Window=16 PartPkts=4 PartSharedRam=1 \
    RxStorePkts=16 RxResultPkts=4 RxCtrlPkts=16 SwitchReductions=1
$(eval $(call variant,egress_16,egress,N=5 FlitBytes=16 OpenRows=8 StorePkts=16 CtrlPkts=16 Window=0 PartPkts=4 \
    PartSharedRam=0 RxStorePkts=16 RxResultPkts=4 RxCtrlPkts=16 SwitchReductions=1))
$(eval $(call variant,egress_min,egress,N=2 FlitBytes=16 OpenRows=1 StorePkts=1 CtrlPkts=1 Window=1 PartPkts=1 \
    PartSharedRam=0 RxStorePkts=1 RxResultPkts=1 RxCtrlPkts=1 SwitchReductions=0))
UNIT += sum_table
UNIT_PARAMS_sum_table := N=4 FlitBytes=16 RxStorePkts=16 SumEntries=32
$(eval $(call variant,sum_table_8,sum_table,N=6 FlitBytes=8 RxStorePkts=8 SumEntries=6 SumWays=3))
UNIT += queue_parts
UNIT_SRCS_queue_parts := tests/unit/switch/queue/queue_parts.sv
UNIT_ANY_queue_parts := 1
UNIT_PARAMS_queue_parts := N=4
UNIT += switch_parts
UNIT_SRCS_switch_parts := tests/unit/switch/monitor/switch_parts.sv
UNIT_C_switch_parts := tests/unit/switch/monitor/port_monitors.cpp
UNIT_ANY_switch_parts := 1
UNIT_PARAMS_switch_parts := N=3 OpenRows=3 StorePkts=16 CtrlPkts=4 Window=8 RxStorePkts=16 RxResultPkts=4 TokensLog2=12
UNIT += expert_engine
UNIT_SRCS_expert_engine := rtl/gpu/expert_engine.sv
UNIT_C_expert_engine := $(addprefix tests/unit/gpu/expert_engine_,tiles.cpp rows.cpp)
UNIT_PARAMS_expert_engine := N=4 TokensLog2=6 RowRanges=1 Gathered=1 TileReductions=0 SourceLists=1 RowTypes=0 \
    GateGradients=0 FlitBytes=8 MemBytesLog2=18 RowsLog2=10 MaxExperts=64 MaxLocalExperts=16
$(eval $(call variant,expert_engine_16,expert_engine,N=4 TokensLog2=6 RowRanges=1 Gathered=1 TileReductions=1 \
    SourceLists=1 RowTypes=1 GateGradients=1 FlitBytes=16 MemBytesLog2=18 RowsLog2=10 MaxExperts=64 \
    MaxLocalExperts=16))
$(eval $(call variant,expert_engine_types,expert_engine,N=4 TokensLog2=6 RowRanges=1 Gathered=1 TileReductions=0 \
    SourceLists=1 RowTypes=1 GateGradients=1 FlitBytes=8 MemBytesLog2=18 RowsLog2=10 MaxExperts=64 \
    MaxLocalExperts=16))
UNIT += expert_dot
UNIT_SRCS_expert_dot := rtl/common/numbers/fp32_add.sv rtl/gpu/expert_dot.sv
UNIT_PARAMS_expert_dot := FlitBytes=8
$(eval $(call variant,expert_dot_16,expert_dot,FlitBytes=16))
UNIT += count_once
UNIT_SRCS_count_once := rtl/hub/memory/count_once.sv
UNIT_PARAMS_count_once := N=3 SourceLists=0
UNIT += ctrl_packets
UNIT_SRCS_ctrl_packets := rtl/hub/control/ready_gather.sv rtl/hub/control/ctrl_packets.sv
UNIT_PARAMS_ctrl_packets := N=4 TokensLog2=9 SwitchReductions=0
UNIT += gradient_send
UNIT_SRCS_gradient_send := rtl/hub/send/loc_merge.sv rtl/hub/send/gradient_send.sv
UNIT_PARAMS_gradient_send := N=5 FlitBytes=8 TokensLog2=9
$(eval $(call variant,gradient_send_16,gradient_send,N=4 FlitBytes=16 TokensLog2=12))
UNIT += expert_fetch
UNIT_SRCS_expert_fetch := rtl/gpu/expert_fetch.sv
UNIT_PARAMS_expert_fetch := N=4 FlitBytes=8 MemBytesLog2=19 RowsLog2=12 SourceLists=1 Gathered=1 TokensLog2=6
UNIT += reduction
UNIT_SRCS_reduction := rtl/hub/reduce/reduction.sv
UNIT_C_reduction := $(addprefix tests/unit/hub/reduce/reduction_,refused.cpp sums.cpp)
UNIT_PARAMS_reduction := N=4 FlitBytes=8 MemBytesLog2=19 MaxExperts=64 Groups=16 SwitchReductions=0 Gathered=1 \
    BalanceRows=1
$(eval $(call variant,reduction_n2,reduction,N=2 FlitBytes=16 MemBytesLog2=20 MaxExperts=64 Groups=16 \
    SwitchReductions=1 Gathered=0 BalanceRows=1))
$(eval $(call variant,reduction_n8,reduction,N=8 FlitBytes=16 MemBytesLog2=20 MaxExperts=64 Groups=128 \
    SwitchReductions=1 Gathered=1))
$(eval $(call variant,reduction_by_switch,reduction,N=4 FlitBytes=16 MemBytesLog2=20 MaxExperts=64 Groups=16 \
    SwitchReductions=1 Gathered=1))
$(eval $(call variant,reduction_tiles,reduction,N=4 FlitBytes=8 MemBytesLog2=20 MaxExperts=64 Groups=16 \
    SwitchReductions=1 TileReductions=1 Gathered=1))
UNIT += row_balance
UNIT_SRCS_row_balance := rtl/hub/reduce/row_balance.sv
UNIT_PARAMS_row_balance := N=5 TokensLog2=5 CachedHandle=1
$(eval $(call variant,row_balance_2,row_balance,N=2 TokensLog2=1 CachedHandle=1))
$(eval $(call variant,row_balance_8,row_balance,N=8 TokensLog2=13 CachedHandle=0))
$(eval $(call variant,row_balance_16,row_balance,N=16 TokensLog2=6 CachedHandle=1))
UNIT += row_sum
UNIT_SRCS_row_sum := rtl/hub/sum/row_sum.sv
UNIT_PARAMS_row_sum := N=4 FlitBytes=8 MemBytesLog2=17 AdderBypass=1 Gathered=1 BalanceRows=1
$(eval $(call variant,row_sum_16,row_sum,N=4 FlitBytes=16 MemBytesLog2=18 AdderBypass=1 RedTypes=1023 BalanceRows=0))
$(eval $(call variant,row_sum_adder,row_sum,N=4 FlitBytes=8 MemBytesLog2=17 AdderBypass=0 BalanceRows=1))
UNIT += control
UNIT_SRCS_control := rtl/hub/control/control.sv
UNIT_PARAMS_control := N=4 FlitBytes=8 MemBytesLog2=15 TokensLog2=8 MaxExperts=64 MaxLocalExperts=32 Events=32 \
    RowRanges=1 SwitchReductions=0 SourceLists=1 CachedHandle=1
$(eval $(call variant,control_16,control,N=8 FlitBytes=16 MemBytesLog2=18 TokensLog2=10 MaxExperts=512 \
    MaxLocalExperts=64 Events=16 RowRanges=0 SwitchReductions=0 SourceLists=0 CachedHandle=0))
$(eval $(call variant,control_by_switch,control,N=4 FlitBytes=8 MemBytesLog2=15 TokensLog2=8 MaxExperts=64 \
    MaxLocalExperts=32 Events=32 RowRanges=1 SwitchReductions=1 SourceLists=1 CachedHandle=0))
$(eval $(call variant,control_tiles,control,N=4 FlitBytes=8 MemBytesLog2=15 TokensLog2=8 MaxExperts=64 \
    MaxLocalExperts=32 Events=32 RowRanges=1 SwitchReductions=1 TileReductions=1 SourceLists=1 CachedHandle=0))
UNIT += tx
UNIT_PARAMS_tx := FlitBytes=8 StorePkts=16 GateGradients=0
UNIT_SRCS_tx := rtl/hub/tx.sv
$(eval $(call variant,tx_16,tx,FlitBytes=16 StorePkts=16 GateGradients=1))
UNIT += dispatch_throttle
UNIT_PARAMS_dispatch_throttle := N=4 TokensLog2=5 RowTypes=1
UNIT_SRCS_dispatch_throttle := rtl/hub/send/dispatch_throttle.sv
UNIT += packet_manager
UNIT_PARAMS_packet_manager := N=4 FlitBytes=8 MemBytesLog2=14 TokensLog2=5 MaxExperts=16 RpmEntries=8
UNIT_SRCS_packet_manager := rtl/hub/send/packet_manager.sv
$(eval $(call variant,packet_manager_1,packet_manager,N=2 FlitBytes=8 MemBytesLog2=14 TokensLog2=5 MaxExperts=16 \
    RpmEntries=1))
$(eval $(call variant,packet_manager_2,packet_manager,N=3 FlitBytes=16 MemBytesLog2=14 TokensLog2=5 MaxExperts=16 \
    RpmEntries=2))
$(eval $(call variant,packet_manager_16,packet_manager,N=16 FlitBytes=16 MemBytesLog2=18 TokensLog2=8 MaxExperts=64 \
    RpmEntries=32))
UNIT += streams
UNIT_SRCS_streams := rtl/gpu/streams.sv
UNIT_C_streams := tests/unit/gpu/streams_waits.cpp
UNIT_PARAMS_streams := N=32 FlitBytes=8 MemBytesLog2=14 RowsLog2=18 TokensLog2=16 Events=32 Delay=1 RowRanges=1 \
    Gathered=1 TileReductions=1 SumEntries=16 RowSparse=1 SourceLists=1 GateGradients=1 StreamInstrs=256
$(eval $(call variant,streams_16,streams,N=32 FlitBytes=16 MemBytesLog2=14 RowsLog2=18 TokensLog2=16 Events=16 Delay=0 \
    RowRanges=0 Gathered=0 TileReductions=0 SumEntries=0 RowSparse=0 SourceLists=0 GateGradients=0 StreamInstrs=64))
UNIT += rx_store
UNIT_TOP_rx_store := rx_hub
UNIT_PARAMS_rx_store := N=4 FlitBytes=8 MemBytesLog2=19 RowsLog2=10 TokensLog2=5 MaxExperts=128 MaxLocalExperts=16 \
    CacheEntries=64 Reds=0 Events=32 RowRanges=1 RowTypes=0
UNIT_SRCS_rx_store := tests/unit/hub/receive/rx_hub.sv
UNIT_C_rx_store := tests/unit/hub/receive/rx_store_rates.cpp
$(eval $(call variant,rx_store_16,rx_store,N=4 FlitBytes=16 MemBytesLog2=17 RowsLog2=9 TokensLog2=5 MaxExperts=64 \
    MaxLocalExperts=4 CacheEntries=16 Reds=0 Events=16 RowRanges=0 RowTypes=1))
$(eval $(call variant,rx_store_by_switch,rx_store,N=4 FlitBytes=16 MemBytesLog2=17 RowsLog2=9 TokensLog2=5 \
    MaxExperts=64 MaxLocalExperts=4 CacheEntries=16 Reds=0 Events=32 RowRanges=1 SwitchReductions=1 \
    RowTypes=0))
UNIT += rx_events
UNIT_TOP_rx_events := rx
UNIT_PARAMS_rx_events := N=4 FlitBytes=8 TokensLog2=5 Events=32
UNIT_SRCS_rx_events := rtl/hub/receive/rx.sv
$(eval $(call variant,rx_events_16,rx_events,N=8 FlitBytes=16 TokensLog2=7 Events=16))
UNIT += row_return
UNIT_SRCS_row_return := rtl/hub/reduce/row_return.sv
UNIT_PARAMS_row_return := N=5 TokensLog2=6 RowsLog2=8 MemBytesLog2=18 FlitBytes=16 RowSparse=1 SourceLists=1
UNIT += notified_rows
UNIT_SRCS_notified_rows := rtl/hub/memory/notified_rows.sv
UNIT_PARAMS_notified_rows := N=8 TokensLog2=6 RowRanges=1
UNIT += link_rate
UNIT_SRCS_link_rate := rtl/link/link_rate.sv
UNIT_PARAMS_link_rate := Ahead=2 MaxPkt=11
UNIT += link_fault
UNIT_SRCS_link_fault := rtl/link/link_fault.sv
UNIT_PARAMS_link_fault := FlitBytes=8
$(eval $(call variant,link_fault_16,link_fault,FlitBytes=16))
UNIT += rx_errors
UNIT_TOP_rx_errors := rx_hub
UNIT_PARAMS_rx_errors := N=4 FlitBytes=8 MemBytesLog2=17 RowsLog2=6 TokensLog2=5 MaxExperts=64 MaxLocalExperts=4 \
    CacheEntries=64 Reds=0 Events=32 RowRanges=1 RowTypes=0
UNIT_SRCS_rx_errors := tests/unit/hub/receive/rx_hub.sv
UNIT_C_rx_errors := $(addprefix tests/unit/hub/receive/rx_errors_,stores.cpp returns.cpp tables.cpp)
$(eval $(call variant,rx_errors_lists,rx_errors,N=4 FlitBytes=8 MemBytesLog2=17 RowsLog2=6 TokensLog2=5 MaxExperts=64 \
    MaxLocalExperts=4 CacheEntries=64 Reds=0 TargetListCache=0 Events=16 RowRanges=0 SwitchReductions=0 RowTypes=0))
$(eval $(call variant,rx_errors_by_switch,rx_errors,N=4 FlitBytes=8 MemBytesLog2=17 RowsLog2=6 TokensLog2=5 \
    MaxExperts=64 MaxLocalExperts=4 CacheEntries=64 Reds=0 Events=32 RowRanges=1 SwitchReductions=1 \
    RowTypes=0))
$(eval $(call variant,rx_errors_16,rx_errors,N=4 FlitBytes=16 MemBytesLog2=17 RowsLog2=9 TokensLog2=5 MaxExperts=64 \
    MaxLocalExperts=4 CacheEntries=16 Reds=1 SumEntries=16 Events=32 RowRanges=0 RowTypes=1))
UNIT += serve_errors
UNIT_TOP_serve_errors := reduce_serve
UNIT_PARAMS_serve_errors := N=4 FlitBytes=8 MemBytesLog2=19 TokensLog2=5 MaxExperts=64
UNIT_SRCS_serve_errors := rtl/hub/reduce/reduce_serve.sv
$(eval $(call variant,serve_errors_16,serve_errors,N=5 FlitBytes=16 MemBytesLog2=18 TokensLog2=5 MaxExperts=64))
UNIT += ranges_and_places
UNIT_SRCS_ranges_and_places := tests/unit/common/ranges_and_places.sv
UNIT_PARAMS_ranges_and_places := N=4 FlitBytes=8 MemBytesLog2=17 TokensLog2=8 SourceLists=1 RowRanges=1 Events=32
UNIT += rx_jobs
UNIT_SRCS_rx_jobs := tests/unit/hub/receive/rx_jobs.sv
UNIT_PARAMS_rx_jobs := N=5 FlitBytes=8 MemBytesLog2=17 TokensLog2=4 RowsLog2=10 MaxExperts=64 MaxLocalExperts=16 \
    Events=32 SwitchReductions=1 TileReductions=1 MergeLoads=1 RowTypes=1
UNIT += allocator
UNIT_SRCS_allocator := rtl/hub/memory/allocator.sv
UNIT_PARAMS_allocator := N=5 FlitBytes=8 MemBytesLog2=15 TokensLog2=4 RowsLog2=5 MaxLocalExperts=16 CacheEntries=64 \
    CacheLimit=1 CachedHandle=1
$(eval $(call variant,allocator_16,allocator,N=4 FlitBytes=16 MemBytesLog2=15 TokensLog2=6 RowsLog2=6 \
    MaxLocalExperts=8 CacheEntries=16 CacheLimit=0 CachedHandle=0))
UNIT += row_ranges
UNIT_SRCS_row_ranges := rtl/common/row_ranges.sv
UNIT_PARAMS_row_ranges := N=5 FlitBytes=8 MemBytesLog2=17 TokensLog2=6 RowRanges=1 Own=0
$(eval $(call variant,row_ranges_own,row_ranges,N=4 FlitBytes=16 MemBytesLog2=18 TokensLog2=8 RowRanges=1 Own=1))
UNIT += row_lists
UNIT_SRCS_row_lists := rtl/hub/receive/row_lists.sv
UNIT_PARAMS_row_lists := N=5 MaxExperts=64 MaxLocalExperts=16 TokensLog2=6
UNIT += slot_pointer_sizes
UNIT_SRCS_slot_pointer_sizes := rtl/switch/queue/slot_pointer.sv tests/unit/switch/queue/slot_pointer_sizes.sv
UNIT += link_sizes
UNIT_SRCS_link_sizes := rtl/link/link_delay.sv rtl/link/link.sv tests/unit/link/link_sizes.sv
UNIT += merge_table
UNIT_SRCS_merge_table := rtl/switch/load/merge_table.sv
UNIT_PARAMS_merge_table := N=5 FlitBytes=16 TokensLog2=6 TileReductions=1 MergeLoads=1 MergeEntries=12 MergeWays=3 \
    OpenLoads=20
$(eval $(call variant,merge_table_2,merge_table,N=2 FlitBytes=8 TokensLog2=6 TileReductions=1 MergeLoads=1 \
    MergeEntries=4 MergeWays=4 OpenLoads=8))
UNIT += reduce_join
UNIT_SRCS_reduce_join := rtl/switch/reduce/reduce_join.sv
UNIT_PARAMS_reduce_join := N=5 FlitBytes=8 RedTypes=1023
UNIT += token_tracker
UNIT_PARAMS_token_tracker := N=32 TokensLog2=5 SwitchReductions=0
UNIT_SRCS_token_tracker := rtl/hub/memory/token_tracker.sv
$(eval $(call variant,token_tracker_by_switch,token_tracker,N=32 TokensLog2=5 SwitchReductions=1))
$(eval $(call variant,token_tracker_tiles,token_tracker,N=32 TokensLog2=5 SwitchReductions=1 TileReductions=1))
UNIT += soc
UNIT_TOP_soc := soc_bench
UNIT_PARAMS_soc := N=2 $(SMALL_PARAMS)
UNIT_SRCS_soc := $(DEV_PKGS) $(DEV_IP) tests/unit/soc/soc_bench.sv
UNIT_C_soc := tests/unit/soc/soc_restart.cpp tests/unit/soc/soc_code.cpp
UNIT_NEEDS_soc := $(FW)/firmware.hex
UNIT += stream_mux
UNIT_SRCS_stream_mux := rtl/soc/stream_mux.sv
UNIT_PARAMS_stream_mux := N=3 FlitBytes=8
UNIT += cfg_bus
UNIT_SRCS_cfg_bus := rtl/soc/cfg_bus.sv
UNIT += fabric_reset
UNIT_SRCS_fabric_reset := rtl/soc/fabric_reset.sv
UNIT += usb_core
UNIT_SRCS_usb_core := $(USB_CORE)
UNIT_C_usb_core := $(wildcard sim/ulpi/*.c) $(HOST_H)
UNIT_FLAGS_usb_core := -Wno-lint -Wno-style
UNIT += usb_core_pins
UNIT_SRCS_usb_core_pins := $(USB_PINS)
UNIT_C_usb_core_pins := $(filter-out %/ulpi_phy.c,$(wildcard sim/ulpi/*.c)) sim/pins/pins_phy.c $(HOST_H)
UNIT_FLAGS_usb_core_pins := -Wno-lint -Wno-style
UNIT += gate_cells
UNIT_SRCS_gate_cells := rtl/common/ram_sdp.sv rtl/soc/cpu_ram.sv $(GATE_CELLS) tests/gate/gate_parts.sv \
    $(B)/gate/parts/gate_parts_netlist.v tests/unit/common/gate_cells.sv
UNIT_FLAGS_gate_cells := -Wno-lint -Wno-style
UNIT += usb_cross
UNIT_SRCS_usb_cross := $(addprefix rtl/cdc/cdc_,sync.sv fifo.sv restart.sv) rtl/host/usb_words.sv rtl/host/usb_cross.sv
UNIT_FLAGS_usb_cross := -DMW_CDC_RANDOM
UNIT += cdc_parts
UNIT_SRCS_cdc_parts := $(addprefix rtl/cdc/cdc_,sync.sv fifo.sv reset.sv) tests/unit/cdc/cdc_parts.sv
UNIT_FLAGS_cdc_parts := -DMW_CDC_RANDOM
UNIT += board_start
UNIT_SRCS_board_start := rtl/cdc/cdc_reset.sv rtl/board/board_start.sv
UNIT_PARAMS_board_start := WaitLog2=12
UNIT += board_leds
UNIT_SRCS_board_leds := rtl/cdc/cdc_sync.sv rtl/board/board_leds.sv
UNIT_PARAMS_board_leds := ClockKhz=12
$(eval $(call variant,board_leds_8,board_leds,ClockKhz=8))
$(eval $(call variant,board_leds_48,board_leds,ClockKhz=48))
UNIT += vccio_18
UNIT_SRCS_vccio_18 := rtl/cdc/cdc_reset.sv rtl/board/vccio_18.sv
UNIT_PARAMS_vccio_18 := SettleLog2=10
UNIT += host_link
UNIT_SRCS_host_link := $(DEV_PKGS) rtl/host/host_link.sv
UNIT_C_host_link := tests/unit/host/host_link_errors.cpp tests/unit/host/host_link_hidden.cpp
UNIT_PARAMS_host_link := N=2 FlitBytes=8 MemBytesLog2=17
$(eval $(call variant,host_link_16,host_link,N=2 FlitBytes=16 MemBytesLog2=17))
UNIT += link_fuzz
UNIT_TOP_link_fuzz := host_link
UNIT_SRCS_link_fuzz := $(UNIT_SRCS_host_link)
UNIT_C_link_fuzz := $(filter-out sim/usb/fabric.c sim/usb/whole.c,$(USBDEV_SRC)) driver/src/transport_usb/frame.c \
    driver/src/transport_sim/queue.c
UNIT_PARAMS_link_fuzz := N=2 FlitBytes=8 MemBytesLog2=17 Zeros=64
$(eval $(call variant,link_fuzz_16,link_fuzz,N=2 FlitBytes=16 MemBytesLog2=17 Zeros=64))
UNIT += rx_red
UNIT_SRCS_rx_red := rtl/hub/receive/rx_red.sv
UNIT_PARAMS_rx_red := FlitBytes=8 MemBytesLog2=11 RedTypes=1023 SumEntries=16
UNIT += red_tracker
UNIT_SRCS_red_tracker := rtl/hub/memory/red_tracker.sv
UNIT_PARAMS_red_tracker := N=32 TokensLog2=5 SumEntries=16
UNIT += switch_rate_8
UNIT_TOP_switch_rate_8 := switch_bench
UNIT_TEST_switch_rate_8 := tests/unit/switch/test_switch_rate.cpp
UNIT_SRCS_switch_rate_8 := tests/unit/switch/switch_bench.sv
UNIT_PARAMS_switch_rate_8 := N=8 FlitBytes=16 MaxExperts=64 StorePkts=32
$(eval $(call variant,switch_rate_4,switch_rate_8,N=4 FlitBytes=16 MaxExperts=64 StorePkts=32))
$(eval $(call variant,switch_rate_shared_ram,switch_rate_8,N=8 FlitBytes=8 MaxExperts=64 StorePkts=32 PartSharedRam=1))
$(eval $(call variant,switch_rate_16,switch_rate_8,N=16 FlitBytes=16 MaxExperts=64 StorePkts=32 Guard=0 Monitor=0))
UNIT += rx_grants
UNIT_TOP_rx_grants := rx
UNIT_PARAMS_rx_grants := N=3 FlitBytes=8 TokensLog2=5 OpenRows=8 RxResultPkts=4 SwitchReductions=1 MergeLoads=1 \
    OpenSyncs=8 SumEntries=12
UNIT_SRCS_rx_grants := rtl/hub/receive/rx.sv
$(eval $(call variant,rx_grants_16,rx_grants,N=32 FlitBytes=16 TokensLog2=10 OpenRows=8 RxResultPkts=4 \
    SwitchReductions=1 MergeLoads=0 OpenSyncs=8 SumEntries=0))
$(eval $(call variant,rx_grants_min,rx_grants,N=2 FlitBytes=16 TokensLog2=15 OpenRows=1 RxResultPkts=1 \
    SwitchReductions=1 MergeLoads=1 OpenSyncs=1 SumEntries=0))
UNIT += ready_gather
UNIT_PARAMS_ready_gather := N=5 TokensLog2=6 SwitchReductions=1
UNIT_SRCS_ready_gather := rtl/hub/control/ready_gather.sv
UNIT += load
UNIT_PARAMS_load := N=5 TokensLog2=6 SwitchReductions=1 TileReductions=1 MergeLoads=1 OpenLoads=6 OpenSyncs=3
UNIT_SRCS_load := rtl/hub/load/load.sv
UNIT += load_serve
UNIT_PARAMS_load_serve := N=3 FlitBytes=8 MemBytesLog2=14 TokensLog2=6 SwitchReductions=1 TileReductions=1 \
    MergeLoads=1 OpenLoads=4
UNIT_SRCS_load_serve := rtl/hub/load/load_serve.sv
$(eval $(call variant,load_serve_block,load_serve,N=9 FlitBytes=16 MemBytesLog2=15 TokensLog2=6 SwitchReductions=1 \
    TileReductions=1 MergeLoads=1 OpenLoads=32))
UNIT += kept_lists
UNIT_PARAMS_kept_lists := N=4 FlitBytes=8 MemBytesLog2=14 TokensLog2=5 MaxExperts=64 SwitchReductions=1
UNIT_SRCS_kept_lists := tests/unit/hub/receive/kept_lists.sv
$(eval $(call variant,kept_lists_tiles,kept_lists,N=4 FlitBytes=8 MemBytesLog2=14 TokensLog2=5 MaxExperts=64 \
    SwitchReductions=1 TileReductions=1))
$(eval $(call variant,kept_lists_16,kept_lists,N=5 FlitBytes=16 MemBytesLog2=15 TokensLog2=6 MaxExperts=512 \
    SwitchReductions=1))
UNIT += token_order
UNIT_SRCS_token_order := rtl/hub/control/token_order.sv
UNIT_PARAMS_token_order := N=8 TokensLog2=5 Hot=5
$(eval $(call variant,token_order_2,token_order,N=2 TokensLog2=3 Hot=1))
$(eval $(call variant,token_order_4,token_order,N=4 TokensLog2=4 Hot=3))
$(eval $(call variant,token_order_large,token_order,N=32 TokensLog2=8 Hot=5))
